"""Start a module as a supervised process: `python -m aico_memory.runtime.launch PARENT_PID MODULE [ARGS]`.

The process dies with its supervisor, whatever kills that one. It is set up here,
before the module's own imports, so that there is no moment without it.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys

PR_SET_PDEATHSIG = 1


def die_with(parent: int) -> None:
    """Ask the kernel for SIGKILL when the parent is gone; exit where it is gone already.

    Elsewhere than on Linux only the second half holds.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


if __name__ == "__main__":
    die_with(int(sys.argv[1]))
    # structlog draws tracebacks with rich where it finds it, and importing it costs every process 10 MiB; a supervised
    # process writes JSON lines and never draws.
    sys.modules.setdefault("rich", None)  # type: ignore[arg-type]
    module = sys.argv[2]
    sys.argv = [module, *sys.argv[3:]]
    runpy.run_module(module, run_name="__main__", alter_sys=True)

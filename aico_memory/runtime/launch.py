"""Start a module as a supervised process: `python -m aico_memory.runtime.launch PARENT_PID MODULE [ARGS]`.

The process dies with its supervisor, whatever kills that one. It is set up here,
before the module's own imports, so that there is no moment without it.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence

from aico_memory.runtime.kernel import die_with


def run_as_main(module: str, arguments: Sequence[str]) -> None:
    """Run a module as if this process had been started for it alone."""
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def without_rich() -> None:
    """Keep rich out of this process.

    structlog draws tracebacks with it where it finds it, and importing it costs every process 10 MiB; a supervised
    process writes JSON lines and never draws.
    """
    sys.modules.setdefault("rich", None)  # type: ignore[arg-type]


if __name__ == "__main__":
    die_with(int(sys.argv[1]))
    without_rich()
    run_as_main(sys.argv[2], sys.argv[3:])

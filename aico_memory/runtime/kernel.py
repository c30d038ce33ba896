"""What the supervisor asks of the kernel about its processes. Only Linux answers; elsewhere nothing happens."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15
PR_SET_CHILD_SUBREAPER = 36
LONGEST_NAME = 15
# proc(5): the fields of /proc/PID/stat, counted behind the name in parentheses, whose own first is number 3.
_ARG_START, _ARG_END = 48 - 3, 49 - 3


def die_with(parent: int) -> None:
    """Ask the kernel for SIGKILL when the parent is gone; exit where it is gone already.

    Elsewhere than on Linux only the second half holds.
    """
    _prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> bool:
    """Become the parent of every descendant whose own parent ends; False where that cannot be."""
    return _prctl(PR_SET_CHILD_SUBREAPER, 1) and hasattr(os, "pidfd_open") and _knows_pidfd()


def name_process(name: str, title: str) -> None:
    """Let `ps` and `top` show what a forked process does: `name` (15 bytes) and `title` in place of its command line."""
    if not _prctl(PR_SET_NAME, ctypes.create_string_buffer(name.encode()[:LONGEST_NAME])):
        return
    fields = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
    start, end = int(fields[_ARG_START]), int(fields[_ARG_END])
    room = end - start
    if not start or room < 2:
        return
    # A last byte that is not 0 says that a title ends at its own 0: then nobody is shown the empty rest.
    text = title.encode()[: room - 2]
    ctypes.memmove(start, text.ljust(room - 1, b"\0") + b"\x01", room)


def give_back_memory() -> None:
    """Return what the C heap holds free to the kernel, malloc_trim(3); elsewhere than with glibc nothing happens."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(ctypes.c_size_t(0))


def settle_memory() -> None:
    """What is in memory now stays: collections need not walk it again and again, and what is free goes back to the kernel."""
    gc.collect()
    gc.freeze()
    give_back_memory()


def threads() -> int:
    """How many threads this process has, those of libraries included."""
    return sum(1 for _ in Path("/proc/self/task").iterdir())


def _prctl(option: int, argument: int | ctypes.Array[ctypes.c_char]) -> bool:
    if sys.platform != "linux":
        return False
    value = ctypes.c_ulong(argument) if isinstance(argument, int) else argument
    return bool(ctypes.CDLL(None).prctl(option, value, ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0)) == 0)


def _knows_pidfd() -> bool:
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return False
    return True

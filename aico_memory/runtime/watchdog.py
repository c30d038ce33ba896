"""Ends a process that stays in one piece of work for ever, so that whoever watches over it starts it anew."""

from __future__ import annotations

import faulthandler
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

# Over so many records; the process ends where it takes longer than they may.
Watch = Callable[[int], AbstractContextManager[None]]
_STDERR = 2


def unwatched(records: int) -> AbstractContextManager[None]:
    """For a worker that runs in somebody else's process."""
    return nullcontext()


class Watchdog:
    """Allows `first` seconds for a piece of work and `each` seconds more for every record in it.

    The timer is one of the operating system: a regular expression that goes astray never lets go of the interpreter, so
    no thread of this process could notice. What all threads were doing is written to the log; the exit code is 1. The
    record is counted as an attempt before it is applied again, so that after `runtime.max_attempts` it is given up.
    """

    def __init__(self, first: float, each: float) -> None:
        self._first = first
        self._each = each

    @contextmanager
    def over(self, records: int) -> Iterator[None]:
        """Watch over a piece of work. One at a time in a process."""
        faulthandler.dump_traceback_later(self._first + self._each * records, exit=True, file=_STDERR)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()

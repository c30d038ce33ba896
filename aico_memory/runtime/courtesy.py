"""Work that nobody waits for lets questions go first.

Threads of one interpreter share its lock: a question beside a thread that computes takes twice as long and more. Between
two pieces of work the consumer therefore stands aside for as long as a question is being answered, within a bound.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

DEFAULT_MS = 20.0


class Courtesy:
    """Counts the questions being answered; thread-safe. Who gives way waits `most_ms` at most each time (0: never)."""

    def __init__(self, most_ms: float = DEFAULT_MS) -> None:
        self._seconds = most_ms / 1000
        self._serving = 0
        self._free = threading.Condition()
        # Whether this thread is one of those that answer.
        self._own = threading.local()

    @contextmanager
    def serving(self) -> Iterator[None]:
        """A question is being answered until the block ends."""
        self._own.serves = True
        self._begin()
        try:
            yield
        finally:
            self._own.serves = False
            self._end()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """What this thread answers waits for another process until the block ends: who gives way may go on meanwhile."""
        if not getattr(self._own, "serves", False):
            yield
            return
        self._end()
        try:
            yield
        finally:
            self._begin()

    def give_way(self) -> None:
        """Wait until no question is being answered, or the bound is reached. Costs nothing where there is none."""
        # Read without the lock: a question that begins at this very moment is given way to the next time.
        if not self._serving or not self._seconds:
            return
        with self._free:
            self._free.wait_for(lambda: not self._serving, self._seconds)

    def _begin(self) -> None:
        with self._free:
            self._serving += 1

    def _end(self) -> None:
        with self._free:
            self._serving -= 1
            if not self._serving:
                self._free.notify_all()

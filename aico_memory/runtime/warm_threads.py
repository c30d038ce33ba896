"""A few threads for short work, of which the one that rested last goes on.

Each has a database connection with pages of its own and a heap that it knows. Taken in turn, as executors do, all of them
are cold whenever they are asked; so one does what one can do, and the others come in where several ask at once.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue

from aico_memory.log import get_logger

_log = get_logger(__name__)
Work = Callable[[], None]


class WarmThreads:
    """At most `most` threads, started when they are needed; what work raises is logged. Safe from many threads."""

    def __init__(self, most: int, name: str) -> None:
        self._most = most
        self._name = name
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        # What each resting thread waits for, the one that rested last at the end; None ends it.
        self._resting: list[SimpleQueue[Work | None]] = []
        self._waiting: deque[Work] = deque()
        self._closed = False

    def submit(self, work: Work) -> bool:
        """Do this soon, in the order given where all are busy; False where it is closed."""
        with self._lock:
            if self._closed:
                return False
            if self._resting:
                self._resting.pop().put(work)
            elif len(self._threads) < self._most:
                name = f"{self._name}_{len(self._threads)}"
                thread = threading.Thread(target=self._run, args=(work,), name=name, daemon=True)
                self._threads.append(thread)
                thread.start()
            else:
                self._waiting.append(work)
            return True

    def close(self) -> None:
        """Drop what waits, and wait for what is being done; twice does nothing."""
        with self._lock:
            self._closed = True
            self._waiting.clear()
            while self._resting:
                self._resting.pop().put(None)
        for thread in self._threads:
            thread.join()

    def _run(self, first: Work) -> None:
        mine: SimpleQueue[Work | None] = SimpleQueue()
        work: Work | None = first
        while work is not None:
            try:
                work()
            except Exception:
                # The thread is there for the others.
                _log.exception("work failed", threads=self._name)
            with self._lock:
                if self._waiting:
                    work = self._waiting.popleft()
                    continue
                if self._closed:
                    return
                self._resting.append(mine)
            work = mine.get()

"""The bound of what is on its way to the broker: publishers wait here while it is full."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from aico_memory.settings.link import LinkSettings


class Room:
    """Records and bytes that may be on their way; thread-safe."""

    def __init__(self, settings: LinkSettings) -> None:
        self._most_records = settings.window_records
        self._most_bytes = settings.window_bytes
        self._freed = threading.Condition()
        self._records = 0
        self._bytes = 0

    def holds(self, records: int, size: int) -> bool:
        """Whether so many more would fit now."""
        return self._records + records <= self._most_records and self._bytes + size <= self._most_bytes

    def take(self, sizes: list[int], deadline: float, still: Callable[[], None]) -> int:
        """Make room for as many of these as fit, at least one; how many that is, 0 where time ran out.

        A record larger than all the room goes alone. `still` raises where waiting has no sense any more.
        """
        with self._freed:
            while self._records and not self.holds(1, sizes[0]):
                left = deadline - time.monotonic()
                if left <= 0 or not self._freed.wait(left):
                    return 0
                still()
            taken = 0
            while taken < len(sizes) and (not self._records or self.holds(1, sizes[taken])):
                self._records += 1
                self._bytes += sizes[taken]
                taken += 1
            return taken

    def overdraw(self, sizes: list[int]) -> None:
        """Count what cannot wait: the I/O thread frees the room, so it must not wait for it."""
        with self._freed:
            self._records += len(sizes)
            self._bytes += sum(sizes)

    def release(self, records: int, size: int) -> None:
        """So much has arrived, or was given up."""
        with self._freed:
            self._records -= records
            self._bytes -= size
            self._freed.notify_all()

"""What is durable in the log ahead and has not come into a segment yet."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from aico_memory.bus.journal.ahead import AheadLog
from aico_memory.bus.journal.stamping import Stamped
from aico_memory.errors import StoreCorrupt


class Waiting:
    """The log ahead, and in memory what stands in it."""

    def __init__(self, path: Path, size: int, drain_bytes: int) -> None:
        self._log = AheadLog(path, size)
        self._drain_bytes = drain_bytes
        self._stamped = Stamped()
        self._ids: dict[bytes, bytes] = {}

    def __bool__(self) -> bool:
        return bool(self._stamped.groups)

    @property
    def head(self) -> int:
        """Last global sequence that waits; 0 where nothing does."""
        return self._stamped.total

    @property
    def heads(self) -> Mapping[bytes, tuple[int, int]]:
        """(global, topic) sequence of every topic of which something waits."""
        return self._stamped.moved

    def holds_any(self, ids: Iterable[bytes]) -> bool:
        """Whether one of these event ids waits."""
        return bool(self._ids) and not self._ids.keys().isdisjoint(ids)

    def find(self, ids: Iterable[bytes]) -> dict[bytes, bytes]:
        """Packed (global, topic) sequences of those ids that wait."""
        return {one: self._ids[one] for one in ids if one in self._ids} if self._ids else {}

    def takes(self, values: Sequence[bytes]) -> bool:
        """Whether the groups of a drain are few enough for the log, and it has room."""
        return sum(map(len, values)) <= self._drain_bytes and self._log.has_room(values)

    def note(self, stamped: Stamped, values: Sequence[bytes], ids: Mapping[bytes, bytes], first_global: int) -> None:
        """Make a small drain durable; OSError where that fails."""
        self._log.append(values, first_global)
        self._stamped.extend(stamped)
        self._ids.update(ids)

    def with_drain(self, stamped: Stamped) -> Stamped:
        """All that waits, and this drain behind it, for one transaction."""
        if not self:
            return stamped
        batch = Stamped()
        batch.extend(self._stamped)
        if stamped.groups:
            batch.extend(stamped)
        return batch

    def settle(self) -> None:
        """All that waited stands in a segment."""
        if self:
            self._stamped, self._ids = Stamped(), {}
            self._log.reset()

    def recover(self, stored_head: int) -> int:
        """Take in what the log holds beyond the segments; how many records. StoreCorrupt where it does not follow on them."""
        try:
            for first_global, groups in self._log.recover():
                expected = max(stored_head, self.head) + 1
                if first_global > expected:
                    raise StoreCorrupt(
                        f"The journal's segments end at {expected - 1}, its log ahead begins at {first_global}",
                        "Restore the whole journal folder of one backup, segments and ahead.log together.",
                    )
                if first_global == expected:
                    for value in groups:
                        self._stamped.add_stored(value)
        except struct.error as error:
            raise StoreCorrupt(f"The journal's log ahead does not open: {error}") from error
        self._ids = dict(self._stamped.events)
        return len(self._ids)

    def resize(self) -> None:
        """Give the log the size that is configured; only while nothing waits."""
        self._log.resize()

    def close(self) -> None:
        self._log.close()

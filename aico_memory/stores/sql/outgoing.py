"""The oldest outgoing records of a store as its process knows them, beside the table they stand in."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from aico_memory.contracts.wire import OutgoingRecord

# Kept in memory at most; what is emitted beyond them is read from the table when they are gone.
MOST_RECORDS = 1024
MOST_BYTES = 4 * 1024 * 1024


class OutgoingHead:
    """Thread-safe. Holds the oldest records, all of them where `_whole`, and the ids that are settled but still stored."""

    def __init__(self) -> None:
        self._book = threading.Lock()
        self._records: dict[bytes, OutgoingRecord] = {}
        self._bytes = 0
        # Nothing is known of the table before it was read.
        self._whole = False
        self._settled: dict[bytes, None] = {}

    def oldest(self, limit: int, stored: Callable[[int], Sequence[OutgoingRecord]]) -> list[OutgoingRecord]:
        """Up to `limit` records; `stored` reads so many from the table, oldest first."""
        with self._book:
            if not self._whole and len(self._records) < limit:
                asked = limit + len(self._settled)
                found = stored(asked)
                self._records = {record.event_id: record for record in found if record.event_id not in self._settled}
                self._bytes = sum(len(record.envelope) for record in self._records.values())
                self._whole = len(found) < asked
            return list(islice(self._records.values(), limit))

    def committed(self, emitted: Iterable[OutgoingRecord], forgotten: Iterable[bytes]) -> None:
        """A transaction stands: it has added the one and taken out the other. In the order of the commits."""
        with self._book:
            for event_id in forgotten:
                self._settled.pop(event_id, None)
            for record in emitted:
                if not self._whole:
                    break
                if record.event_id in self._records or record.event_id in self._settled:
                    # Read from the table, and perhaps published, between the commit and this.
                    continue
                if len(self._records) >= MOST_RECORDS or self._bytes + len(record.envelope) > MOST_BYTES:
                    self._whole = False
                    break
                self._records[record.event_id] = record
                self._bytes += len(record.envelope)

    def settle(self, event_ids: Iterable[bytes]) -> int:
        """These are published; how many settled ones stand in the table now."""
        with self._book:
            for event_id in event_ids:
                known = self._records.pop(event_id, None)
                if known is not None:
                    self._bytes -= len(known.envelope)
                self._settled[event_id] = None
            return len(self._settled)

    def settled(self) -> list[bytes]:
        """What may be taken out of the table."""
        with self._book:
            return list(self._settled)

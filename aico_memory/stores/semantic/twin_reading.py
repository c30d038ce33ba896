"""The queue of messages for a language model over the in-memory twin."""

from __future__ import annotations

from aico_memory.stores.semantic.port import Unread
from aico_memory.stores.semantic.twin import MemorySemanticStore


class MemoryReadingQueue:
    """The port `ReadingQueue` in plain Python."""

    def __init__(self, store: MemorySemanticStore) -> None:
        self._store = store

    def due(self, now_us: int) -> Unread | None:
        waiting = [one for one in self._store.tables.unread.values() if one.next_at_us <= now_us]
        return min(waiting, key=lambda one: (one.next_at_us, one.queued_at_us, one.event_id), default=None)

    def postpone(self, unread: Unread) -> None:
        if unread.event_id in self._store.tables.unread:
            self._store.tables.unread[unread.event_id] = unread

    def settle(self, event_id: bytes) -> None:
        self._store.tables.unread.pop(event_id, None)

    def count(self) -> int:
        return len(self._store.tables.unread)

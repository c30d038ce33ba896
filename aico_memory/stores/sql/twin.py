"""The in-memory twin of a consumer's state: same port, same suite, nothing on disk."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from aico_memory.contracts.wire import OutgoingRecord


class MemoryTransaction:
    """What a transaction wants to change, until it commits."""

    __slots__ = ("cursor", "emitted")

    def __init__(self) -> None:
        self.cursor: tuple[int, int] | None = None
        self.emitted: list[OutgoingRecord] = []

    def set_cursor(self, epoch: int, global_sequence: int) -> None:
        self.cursor = (epoch, global_sequence)

    def emit(self, record: OutgoingRecord) -> None:
        self.emitted.append(record)


class MemoryConsumerState:
    """The port `ConsumerState` in plain Python."""

    def __init__(self) -> None:
        self._writing = threading.Lock()
        self._writing_thread = 0
        self._cursor = (0, 0)
        self._outgoing: dict[bytes, OutgoingRecord] = {}
        self._attempts: dict[bytes, int] = {}

    def cursor(self) -> tuple[int, int]:
        return self._cursor

    @contextmanager
    def transaction(self) -> Iterator[MemoryTransaction]:
        with self._exclusive():
            transaction = MemoryTransaction()
            yield transaction
            self._commit(transaction)

    def outgoing(self, limit: int) -> list[OutgoingRecord]:
        return list(self._outgoing.values())[:limit]

    def settle_outgoing(self, event_ids: Sequence[bytes]) -> None:
        with self._writing:
            for event_id in event_ids:
                self._outgoing.pop(event_id, None)

    def forget_settled(self) -> None:
        """Nothing is on a disk."""

    def note_attempt(self, event_id: bytes) -> int:
        with self._writing:
            self._attempts[event_id] = self._attempts.get(event_id, 0) + 1
            return self._attempts[event_id]

    def forget_attempts(self, event_id: bytes) -> None:
        with self._writing:
            self._attempts.pop(event_id, None)

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        if self._writing_thread == threading.get_ident():
            raise RuntimeError("A write transaction inside a write transaction of the same thread")
        with self._writing:
            self._writing_thread = threading.get_ident()
            try:
                yield
            finally:
                self._writing_thread = 0

    def _commit(self, transaction: MemoryTransaction) -> None:
        if transaction.cursor is not None:
            self._cursor = transaction.cursor
        for record in transaction.emitted:
            self._outgoing.setdefault(record.event_id, record)

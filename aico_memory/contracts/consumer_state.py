"""Port: what a durable consumer keeps beside its effects, in the same transaction.

Every worker's store provides it, so that a record is applied once whatever dies when.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from aico_memory.contracts.wire import OutgoingRecord


class ConsumerTransaction(Protocol):
    """One transaction of a worker's store: effects, cursor and what is to be published, or nothing."""

    # What this transaction has added to the outgoing records so far.
    emitted: list[OutgoingRecord]

    def set_cursor(self, epoch: int, global_sequence: int) -> None:
        """Everything up to and including this global sequence has been applied."""

    def emit(self, record: OutgoingRecord) -> None:
        """Publish this after the commit, until it is acknowledged; the same event id twice is one entry."""


class ConsumerState(Protocol):
    """Cursor and bus outbox of one durable consumer."""

    def cursor(self) -> tuple[int, int]:
        """Journal epoch and last applied global sequence; (0, 0) in an empty store."""

    def transaction(self) -> AbstractContextManager[ConsumerTransaction]:
        """Commit on a clean exit, roll back on an exception."""

    def outgoing(self, limit: int) -> list[OutgoingRecord]:
        """The oldest records not yet acknowledged by the bus, in the order they were emitted."""

    def settle_outgoing(self, event_ids: Sequence[bytes]) -> None:
        """The bus has these: they are outgoing no more, on disk at the latest after the next transaction."""

    def forget_settled(self) -> None:
        """Take settled records off the disk now, where no transaction has done it; cheap where there are none."""

    def note_attempt(self, event_id: bytes) -> int:
        """Count one attempt to apply this event, durably, before it is made; returns the count."""

    def forget_attempts(self, event_id: bytes) -> None:
        """The event was applied or given up."""

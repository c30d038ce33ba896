"""The publish window, free of I/O: producer sequences, what is unacknowledged, what to send next.

The broker takes durable records of one connection in contiguous producer
sequences. What it has not acknowledged is sent again, from the first
unacknowledged on and with the same event ids, after every new HELLO; the broker
knows the ids again, so that nothing is lost and nothing doubled.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.errors import AicoMemoryError

Token = TypeVar("Token")


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """The record is on the broker's disk, under these sequences."""

    event_id: bytes
    global_sequence: int
    topic_sequence: int


@dataclass(frozen=True, slots=True)
class Settled(Generic[Token]):
    """The end of one publish: acknowledged, or refused with an error."""

    token: Token
    record: OutgoingRecord
    outcome: Acknowledgement | AicoMemoryError
    # Milliseconds after which the broker is willing to see a refused record again; 0: never.
    retry_after_ms: int = 0


@dataclass(slots=True)
class _Entry(Generic[Token]):
    record: OutgoingRecord
    token: Token


class PublishWindow(Generic[Token]):
    """Durable publishes of one session, in order; `Token` is whatever the caller wants back."""

    def __init__(self, frame_records: int, frame_bytes: int) -> None:
        self._frame_records = frame_records
        self._frame_bytes = frame_bytes
        self._entries: deque[_Entry[Token]] = deque()
        # Producer sequence of _entries[0]; how many from there on went out on this connection.
        self._first = 1
        self._sent = 0
        self._refusals: dict[int, tuple[AicoMemoryError, int]] = {}

    @property
    def first_unacknowledged(self) -> int:
        """The sequence a HELLO announces."""
        return self._first

    @property
    def unacknowledged(self) -> int:
        """Records that have been sent on this connection and not been acknowledged."""
        return self._sent

    @property
    def waiting(self) -> int:
        """Records that have not been sent on this connection."""
        return len(self._entries) - self._sent

    def add(self, record: OutgoingRecord, token: Token) -> int:
        """Take a record into the window; returns its producer sequence."""
        self._entries.append(_Entry(record, token))
        return self._first + len(self._entries) - 1

    def next_frame(self) -> tuple[int, list[OutgoingRecord]] | None:
        """First sequence and records of the next frame to send: all that waits, up to the bounds of a frame."""
        waiting = self.waiting
        if not waiting:
            return None
        records: list[OutgoingRecord] = []
        size = 0
        first = self._first + self._sent
        for index in range(self._sent, self._sent + min(waiting, self._frame_records)):
            record = self._entries[index].record
            size += len(record.envelope)
            if records and size > self._frame_bytes:
                break
            records.append(record)
        self._sent += len(records)
        return first, records

    def reconnected(self) -> None:
        """A new HELLO has been answered: everything unacknowledged is to be sent again."""
        self._sent = 0
        self._refusals.clear()

    def refuse(self, sequence: int, error: AicoMemoryError, retry_after_ms: int) -> None:
        """The broker refuses the record of this sequence; its empty slot in an acknowledgement follows."""
        if self._first <= sequence < self._first + self._sent:
            self._refusals[sequence] = (error, retry_after_ms)

    def acknowledge(self, first: int, sequences: list[tuple[int, int]]) -> tuple[list[Settled[Token]], bool]:
        """Settle the records of an acknowledgement; the flag is False where one before it was lost.

        Then nothing is settled and the caller says HELLO again. What had been settled before is passed over.
        """
        if first > self._first:
            return [], False
        settled: list[Settled[Token]] = []
        for sequence, (global_sequence, topic_sequence) in enumerate(sequences, first):
            if sequence < self._first:
                continue
            if not self._sent:
                return settled, False
            entry = self._entries.popleft()
            self._first += 1
            self._sent -= 1
            refusal = self._refusals.pop(sequence, None)
            if global_sequence:
                done = Acknowledgement(entry.record.event_id, global_sequence, topic_sequence)
                settled.append(Settled(entry.token, entry.record, done))
            else:
                error, retry = refusal or (AicoMemoryError("The bus refused the record and gave no reason"), 0)
                settled.append(Settled(entry.token, entry.record, error, retry))
        return settled, True

    def drain(self) -> Iterator[tuple[Token, OutgoingRecord]]:
        """Give everything back that is not acknowledged; the window is empty after."""
        while self._entries:
            entry = self._entries.popleft()
            self._first += 1
            yield entry.token, entry.record
        self._sent = 0
        self._refusals.clear()


AnyWindow = PublishWindow[Any]

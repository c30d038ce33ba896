"""Answers to durable commands after they were sent: one that a breaking connection lost is sent again when asked for."""

from __future__ import annotations

import threading
from collections import OrderedDict

from aico_memory.contracts.wire import OutgoingRecord


class KeptAnswers:
    """The last answers by their own event id, bounded in number and bytes, in memory only.

    A process that dies loses them; what it had not sent stands in its outbox and is sent by the next one.
    """

    def __init__(self, most: int = 256, most_bytes: int = 2_097_152) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._bytes = 0
        self._answers: OrderedDict[bytes, OutgoingRecord] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, answer: OutgoingRecord) -> None:
        """Keep an answer that was sent; the oldest ones give way."""
        if len(answer.envelope) > self._most_bytes:
            return
        with self._lock:
            before = self._answers.pop(answer.event_id, None)
            self._bytes += len(answer.envelope) - (0 if before is None else len(before.envelope))
            self._answers[answer.event_id] = answer
            while len(self._answers) > self._most or self._bytes > self._most_bytes:
                _, gone = self._answers.popitem(last=False)
                self._bytes -= len(gone.envelope)

    def of(self, event_id: bytes) -> OutgoingRecord | None:
        """The answer of this event id, where it is kept."""
        with self._lock:
            return self._answers.get(event_id)

    def __len__(self) -> int:
        return len(self._answers)

"""An in-memory twin of the worker's link: questions go to plain functions, what is published is kept."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from google.protobuf.message import Message

from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.wire import OutgoingRecord, StampedRecord
from aico_memory.errors import AicoMemoryError

Answer = Callable[[Message, str], Message]


class TwinSubscription:
    """Nothing has to be ended."""

    def close(self) -> None:
        return


class TwinLink:
    """`request` answers by the function of the message's type; None stands for a process that is stopped."""

    identity = "context"
    epoch = 1

    def __init__(self, answers: dict[type[Message], Answer | None]) -> None:
        self.answers = answers
        self.asked: list[tuple[Message, str]] = []
        self.published: list[OutgoingRecord] = []
        self.sent: list[OutgoingRecord] = []
        self.unanswered: list[tuple[Message, Future[Any]]] = []
        self.changed = threading.Condition()
        self.on_connect: Callable[[], None] | None = None
        # Who hears what: topics, and the function that is told.
        self.hearing: list[tuple[Sequence[str], Callable[[StampedRecord], None]]] = []

    def request(
        self, message: Message, *, user: str = "", timeout: float = 5.0, event_id: uuid.UUID | None = None
    ) -> Future[Any]:
        topic_of(message)
        future: Future[Any] = Future()
        self.asked.append((message, user))
        answer = self.answers[type(message)]
        if answer is None:
            self.unanswered.append((message, future))
            return future
        try:
            future.set_result(answer(message, user))
        except AicoMemoryError as error:
            future.set_exception(error)
        return future

    def publish(self, records: Sequence[OutgoingRecord]) -> Sequence[Future[Any]]:
        with self.changed:
            self.published += records
            self.changed.notify_all()
        return []

    def has_room(self, records: int, size: int) -> bool:
        return True

    def send(self, record: OutgoingRecord) -> None:
        with self.changed:
            self.sent.append(record)
            self.changed.notify_all()

    def subscribe(self, topics: Sequence[str], deliver: Callable[[StampedRecord], None]) -> TwinSubscription:
        self.hearing.append((topics, deliver))
        return TwinSubscription()

    def wait_for(self, condition: Callable[[], bool], seconds: float = 10.0) -> bool:
        """Wait until what was published or sent fulfils a condition."""
        with self.changed:
            return self.changed.wait_for(condition, seconds)

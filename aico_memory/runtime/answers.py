"""Answering requests in a small pool, beside the consumer: reads do not wait behind writes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from google.protobuf.message import Message

from aico_memory.contracts.envelope import Event, open_record, reply_record
from aico_memory.contracts.wire import REPLY_PREFIX, OutgoingRecord, StampedRecord
from aico_memory.errors import AicoMemoryError, InvalidMessage, RateLimited, TooLarge
from aico_memory.runtime.courtesy import Courtesy
from aico_memory.runtime.poison import answers_of_failure, as_error
from aico_memory.runtime.ports import LinkPort
from aico_memory.runtime.warm_threads import WarmThreads

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

Answer = Callable[[Event], Message | None]


class Answers:
    """Decodes requests, answers each in a thread, drops what nobody waits for any more."""

    def __init__(
        self,
        answers: Mapping[str, Answer],
        link: LinkPort,
        threads: int,
        waiting: int,
        log: FilteringBoundLogger,
        most_bytes: int,
        courtesy: Courtesy,
        standing: Callable[[], None] = lambda: None,
    ) -> None:
        self._answers = answers
        self._most_bytes = most_bytes
        self._link = link
        self._courtesy = courtesy
        # Waits for what has been answered already and is just being committed.
        self._standing = standing
        self._log = log
        self._pool = WarmThreads(threads, "answer")
        self._room = threading.BoundedSemaphore(waiting)
        self._closed = False
        # Requests that wait or are worked on: one that is asked again meanwhile is not answered twice.
        self._under_way: set[bytes] = set()
        self.answered = 0
        self.expired = 0
        self.failed = 0

    def deliver(self, record: StampedRecord) -> None:
        """Take one request from the link's thread; never blocks."""
        if self._closed or record.event_id in self._under_way:
            return
        if not self._room.acquire(blocking=False):
            self._refuse(record)
            return
        self._under_way.add(record.event_id)
        if not self._pool.submit(partial(self._work, record, monotonic())):
            self._under_way.discard(record.event_id)
            self._room.release()

    def close(self) -> None:
        """Finish what is being answered, drop what waits."""
        self._closed = True
        self._pool.close()

    def _refuse(self, record: StampedRecord) -> None:
        self.failed += 1
        try:
            event = open_record(record)
        except InvalidMessage:
            return
        self._reply(event, RateLimited("Too many requests wait for this worker"))

    def _work(self, record: StampedRecord, arrived: float) -> None:
        try:
            with self._courtesy.serving():
                self._answer(record, arrived)
        finally:
            self._under_way.discard(record.event_id)

    def _answer(self, record: StampedRecord, arrived: float) -> None:
        try:
            event = open_record(record)
        except InvalidMessage as error:
            self.failed += 1
            self._log.info("request_invalid", topic=record.topic, event_id=str(record.id), reason=error.detail)
            self._reply_to_invalid(record, error)
            return
        finally:
            self._room.release()
        # Both times of the allowance are the requester's, the waiting is ours: clocks need not agree.
        if event.deadline_us and event.occurred_us:
            allowed = (event.deadline_us - event.occurred_us) / 1e6
            if monotonic() - arrived >= allowed:
                self.expired += 1
                return
        self._standing()
        try:
            outcome: Message | AicoMemoryError | None = self._answers[event.topic](event)
            self.answered += 1
        except AicoMemoryError as error:
            self.answered += 1
            outcome = error
        except Exception as error:
            self.failed += 1
            self._log.error("request_failed", topic=event.topic, event_id=str(event.event_id), exc_info=True)
            outcome = as_error(error)
        if outcome is not None:
            self._reply(event, outcome)

    def _reply_to_invalid(self, record: StampedRecord, error: InvalidMessage) -> None:
        for reply in answers_of_failure(record, error):
            self._send(reply, record.topic)

    def _reply(self, event: Event, outcome: Message | AicoMemoryError) -> None:
        if event.reply_to.startswith(REPLY_PREFIX):
            reply = reply_record(event, outcome)
            if len(reply.envelope) > self._most_bytes:
                # The bus would refuse it, and the requester would wait for nothing.
                size = f"{len(reply.envelope)} bytes; the bus carries {self._most_bytes}"
                reply = reply_record(event, TooLarge(f"The answer has {size}", "Ask for less at a time."))
            self._send(reply, event.topic)

    def _send(self, reply: OutgoingRecord, topic: str) -> None:
        try:
            self._link.send(reply)
        except AicoMemoryError as error:
            self._log.info("answer_lost", topic=topic, code=error.code)

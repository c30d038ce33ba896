"""An in-memory twin of the bus for the worker runtime: one journal, links that publish, consume, subscribe and ask."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import asdict
from time import monotonic
from typing import Any

from google.protobuf.message import Message

from aico_memory.bus.read_only import WriteStop
from aico_memory.contracts.envelope import make_record, open_record, open_reply
from aico_memory.contracts.wire import OutgoingRecord, StampedRecord, reply_topic
from aico_memory.errors import AicoMemoryError, BusUnavailable

EPOCH = 7


class TwinBus:
    """What the broker does, without sockets. `refuse` may return an error for a record; `away` stands for a broken line."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.journal: list[StampedRecord] = []
        self.ephemeral: list[OutgoingRecord] = []
        self.reports: list[dict[str, Any]] = []
        self.refuse: Callable[[OutgoingRecord], AicoMemoryError | None] = lambda record: None
        self.away = False
        self.now_us = 1_000_000
        self._subscribers: list[tuple[tuple[str, ...], Callable[[StampedRecord], None]]] = []
        self._known: dict[bytes, StampedRecord] = {}

    def link(self, identity: str) -> TwinBusLink:
        return TwinBusLink(self, identity)

    def put(self, record: OutgoingRecord, sender: str = "client") -> StampedRecord:
        """Journal a durable record; the same event id again is the first one."""
        with self.changed:
            if record.event_id not in self._known:
                number = len(self.journal) + 1
                before = sum(stamped.topic == record.topic for stamped in self.journal)
                stamped = StampedRecord(
                    record.topic, record.event_id, record.user, record.envelope, sender, number, before + 1, self.now_us
                )
                self.journal.append(stamped)
                self._known[record.event_id] = stamped
                self.changed.notify_all()
            return self._known[record.event_id]

    def forward(self, record: OutgoingRecord, sender: str) -> None:
        """Deliver an ephemeral record."""
        stamped = StampedRecord(record.topic, record.event_id, record.user, record.envelope, sender, 0, 0, self.now_us)
        with self.changed:
            self.ephemeral.append(record)
            hearers = [deliver for topics, deliver in self._subscribers if record.topic.startswith(topics)]
            self.changed.notify_all()
        for deliver in hearers:
            deliver(stamped)

    def hear(self, topics: Sequence[str], deliver: Callable[[StampedRecord], None]) -> None:
        with self.changed:
            self._subscribers.append((tuple(topics), deliver))

    def deaf(self, deliver: Callable[[StampedRecord], None]) -> None:
        with self.changed:
            self._subscribers = [entry for entry in self._subscribers if entry[1] is not deliver]

    def of_topic(self, topic: str) -> list[StampedRecord]:
        return [stamped for stamped in self.journal if stamped.topic == topic]

    def wait_for(self, condition: Callable[[], object], seconds: float = 60.0) -> bool:
        """Wait until something on the bus fulfils a condition."""
        with self.changed:
            return bool(self.changed.wait_for(condition, seconds))


class TwinBusLink:
    """The LinkPort of one identity."""

    def __init__(self, bus: TwinBus, identity: str) -> None:
        self.identity = identity
        self.reply_topic = reply_topic(identity, bytes(16))
        self._bus = bus
        self._waiting: dict[uuid.UUID, Future[Any]] = {}
        bus.hear([self.reply_topic], self._answered)

    @property
    def epoch(self) -> int:
        return EPOCH

    def publish(self, records: Sequence[OutgoingRecord]) -> list[Future[Any]]:
        if self._bus.away:
            raise BusUnavailable("away")
        futures = []
        for record in records:
            future: Future[Any] = Future()
            error = self._bus.refuse(record)
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(self._bus.put(record, self.identity))
            futures.append(future)
        return futures

    def has_room(self, records: int, size: int) -> bool:
        return True

    def send(self, record: OutgoingRecord) -> None:
        if not self._bus.away:
            self._bus.forward(record, self.identity)

    def request(
        self, message: Message, *, user: str = "", timeout: float | None = None, event_id: uuid.UUID | None = None
    ) -> Future[Any]:
        identifier = event_id or uuid.uuid4()
        future: Future[Any] = Future()
        self._waiting[identifier] = future
        now = self._bus.now_us
        deadline = now + int((timeout if timeout is not None else 5.0) * 1e6)
        record = make_record(
            message, event_id=identifier, occurred_us=now, user=user, reply_to=self.reply_topic, deadline_us=deadline
        )
        self.send(record)
        return future

    def subscribe(self, topics: Sequence[str], deliver: Callable[[StampedRecord], None]) -> TwinSubscription:
        self._bus.hear(topics, deliver)
        return TwinSubscription(self._bus, deliver)

    def consume(self, topics: Sequence[str], epoch: int, cursor: int) -> TwinConsumer:
        return TwinConsumer(self._bus, topics, cursor)

    def control(self, verb: str, body: dict[str, Any]) -> Future[dict[str, Any]]:
        future: Future[dict[str, Any]] = Future()
        with self._bus.changed:
            if verb == "report":
                self._bus.reports.append(body)
                self._bus.changed.notify_all()
            heads = {stamped.topic: [stamped.global_sequence, stamped.topic_sequence] for stamped in self._bus.journal}
            future.set_result(
                {"head": len(self._bus.journal), "topics": heads, "consumers": [], "read_only": asdict(WriteStop())}
            )
        return future

    def close(self) -> None:
        """Nothing is open."""

    def _answered(self, record: StampedRecord) -> None:
        event = open_record(record)
        future = self._waiting.pop(event.correlation_id, None) if event.correlation_id else None
        if future is not None:
            try:
                future.set_result(open_reply(event.message))
            except AicoMemoryError as error:
                future.set_exception(error)


class TwinSubscription:
    def __init__(self, bus: TwinBus, deliver: Callable[[StampedRecord], None]) -> None:
        self._bus, self._deliver = bus, deliver

    def close(self) -> None:
        self._bus.deaf(self._deliver)


class TwinConsumer:
    """Reads the journal from a cursor."""

    def __init__(self, bus: TwinBus, topics: Sequence[str], cursor: int) -> None:
        self._bus, self._topics, self._cursor = bus, frozenset(topics), cursor
        self.failure: AicoMemoryError | None = None

    @property
    def caught_up(self) -> bool:
        return not self._waiting()

    def receive(self, limit: int, timeout: float) -> list[StampedRecord]:
        if self.failure is not None:
            raise self.failure
        deadline = monotonic() + timeout
        with self._bus.changed:
            self._bus.changed.wait_for(self._waiting, max(deadline - monotonic(), 0))
            records = self._waiting()[:limit]
        if records:
            self._cursor = records[-1].global_sequence
        return records

    def close(self) -> None:
        """Nothing is open."""

    def _waiting(self) -> list[StampedRecord]:
        return [stamped for stamped in self._bus.journal[self._cursor :] if stamped.topic in self._topics]

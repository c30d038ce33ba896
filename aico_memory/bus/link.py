"""The link of a process to the bus: publish, request, subscribe, consume. Thread-safe."""

from __future__ import annotations

import atexit
import os
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from google.protobuf.message import Message

from aico_memory.bus.address import BusAddress, read_address
from aico_memory.bus.consumer import Consumer
from aico_memory.bus.consumer_merge import ConsumerMerge
from aico_memory.bus.link_loop import LinkLoop
from aico_memory.bus.link_questions import Question
from aico_memory.bus.link_room import Room
from aico_memory.bus.link_subscriptions import Wanted
from aico_memory.bus.link_tickets import BulkTicket, OneTicket, RequestTicket, Ticket
from aico_memory.bus.link_traffic import Traffic
from aico_memory.bus.link_window import Acknowledgement
from aico_memory.clock import Clock
from aico_memory.contracts.envelope import make_record
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import bus_pb2
from aico_memory.contracts.wire import HEADS_TOPIC, OutgoingRecord, StampedRecord, marks_topic, pack_publish, reply_topic
from aico_memory.errors import AicoMemoryError, BusUnavailable, ClosedConnection, DeadlineExceeded
from aico_memory.ids import new_id
from aico_memory.settings.link import LinkSettings
from aico_memory.vault.curve_keys import IdentityKeys

__all__ = ["Acknowledgement", "BusAddress", "Consumer", "Link", "Subscription", "read_address"]


class Subscription:
    """A live subscription; close() ends it."""

    def __init__(self, link: Link, wanted: Wanted) -> None:
        self._link = link
        self._wanted = wanted

    def close(self) -> None:
        """Deliver nothing more."""
        self._link.end_subscription(self._wanted)


class Link:
    """One connection of one identity, with an I/O thread of its own.

    It connects again by itself, whatever the reason, and sends what was not acknowledged again with
    the same ids. It belongs to the process that made it: a fork may not use it.
    """

    def __init__(self, address: Callable[[], BusAddress], keys: IdentityKeys, *, settings: LinkSettings, clock: Clock) -> None:
        self.identity = keys.name
        self.session = os.urandom(16)
        self.reply_topic = reply_topic(keys.name, self.session)
        self._settings = settings
        self._clock = clock
        self._pid = os.getpid()
        self._room = Room(settings)
        self._state = threading.Condition()
        self._welcome: bus_pb2.Welcome | None = None
        self._last_welcome: bus_pb2.Welcome | None = None
        self._error: AicoMemoryError | None = None
        self._refused: AicoMemoryError | None = None
        self._closed = False
        # Called in the I/O thread whenever a connection stands (again); must not wait.
        self.on_connect: Callable[[], None] | None = None
        traffic = Traffic(self.session, settings, self._room.release)
        self._traffic = traffic
        self._loop = LinkLoop(address, keys, settings, traffic, self._turned)
        self._answers_live = threading.Event()

    @property
    def epoch(self) -> int:
        """The journal's epoch as the broker last told it; 0 before the first connection."""
        return self._last_welcome.epoch if self._last_welcome else 0

    @property
    def request_seconds(self) -> float:
        """The deadline of a request that names none (link.request_seconds)."""
        return self._settings.request_seconds

    @property
    def connected(self) -> bool:
        """A broker answers at this moment."""
        return self._welcome is not None

    @property
    def trouble(self) -> AicoMemoryError | None:
        """Why there is no connection at this moment, where that is known."""
        return None if self.connected else self._error

    def start(self, timeout: float | None = None, *, wait: bool = False) -> bus_pb2.Welcome:
        """Connect; returns the broker's welcome when requests can be made.

        Raises NotAuthorised or VersionMismatch as soon as that is certain, and BusUnavailable after `timeout`
        seconds (default: link.connect_seconds); with `wait` a missing broker is waited for without end.
        The link goes on trying until it is closed, so that start() may be called again.
        """
        self._check()
        deadline = time.monotonic() + (self._settings.connect_seconds if timeout is None else timeout)
        if not self._loop.thread.is_alive():
            traffic = self._traffic
            traffic.answers = traffic.book.add([self.reply_topic])
            traffic.want(traffic.answers, self._answers_told)
            self._loop.thread.start()
            atexit.register(self.close)
        with self._state:
            while not (self._welcome is not None and self._answers_live.is_set()):
                left = None if wait else deadline - time.monotonic()
                if self._refused is not None or (left is not None and left <= 0):
                    raise self._refused or self._error or BusUnavailable("The bus does not answer")
                self._state.wait(left)
            return self._welcome

    def publish(self, records: Sequence[OutgoingRecord], timeout: float | None = None) -> list[Future[Acknowledgement]]:
        """Publish durable records in this order; one future a record.

        Waits while the window is full, at most `timeout` seconds (default: link.publish_seconds) before DeadlineExceeded.
        """
        tickets = [OneTicket() for _ in records]
        self._enter([(record, (ticket, 0)) for record, ticket in zip(records, tickets, strict=True)], timeout)
        return [ticket.future for ticket in tickets]

    def publish_bulk(self, records: Sequence[OutgoingRecord], timeout: float | None = None) -> Future[list[Acknowledgement]]:
        """Publish many durable records in this order for one future: all acknowledgements, or the first refusal."""
        ticket = BulkTicket(len(records))
        if not records:
            ticket.future.set_result([])
            return ticket.future
        self._enter([(record, (ticket, index)) for index, record in enumerate(records)], timeout)
        return ticket.future

    def has_room(self, records: int, size: int) -> bool:
        """Whether so many records of so many bytes could be published now without waiting."""
        return self._room.holds(records, size)

    def send(self, record: OutgoingRecord) -> None:
        """Publish one ephemeral record; lost where no broker is connected."""
        self._check()
        data = pack_publish([record], 0, True)

        def enqueue() -> None:
            if self._welcome is not None:
                self._traffic.out.append(data)

        self._loop.submit(enqueue)

    def request(
        self,
        message: Message,
        *,
        user: str = "",
        timeout: float | None = None,
        event_id: uuid.UUID | None = None,
        acknowledged: Future[Acknowledgement] | None = None,
    ) -> Future[Any]:
        """Ask a worker; the future has the decoded answer, or its typed error, or DeadlineExceeded.

        A durable command is published (`acknowledged` hears of it) and its answer awaited.
        """
        seconds = self._settings.request_seconds if timeout is None else timeout
        topic = topic_of(message)
        now_us = self._clock.now_us()
        identifier = event_id or new_id(now_us)
        record = make_record(
            message,
            event_id=identifier,
            occurred_us=now_us,
            user=user,
            reply_to=self.reply_topic,
            # Both times by this side's clock: their difference is what the worker may take.
            deadline_us=now_us + int(seconds * 1_000_000),
        )
        self._check()
        future: Future[Any] = Future()
        frame = None if topic.durable else pack_publish([record], 0, True)
        question = Question(identifier.bytes, future, time.monotonic() + seconds, topic.name, frame)
        self._loop.submit(lambda: self._traffic.request(question))
        if topic.durable:
            self._enter([(record, (RequestTicket(future, acknowledged or Future()), 0))], seconds)
        return future

    def control(self, verb: str, body: dict[str, Any], timeout: float | None = None) -> Future[dict[str, Any]]:
        """Ask the broker itself."""
        self._check()
        future: Future[dict[str, Any]] = Future()
        seconds = self._settings.request_seconds if timeout is None else timeout
        question = Question(0, future, time.monotonic() + seconds, f"the bus's {verb}")
        self._loop.submit(lambda: self._traffic.control(verb, body, question))
        return future

    def subscribe(
        self, topics: Sequence[str], deliver: Callable[[StampedRecord], None], timeout: float | None = None
    ) -> Subscription:
        """Hear what is published under these topics (or prefixes, each closed by a slash) from now on, while connected.

        Returns when the broker has confirmed it: nothing published after is missed. `deliver` runs in the
        I/O thread and must not wait. Raises AccessDenied where the identity may not.
        """
        self._check()
        told: Future[None] = Future()
        wanted: list[Wanted] = []

        def want() -> None:
            wanted.append(self._traffic.book.add(topics))
            self._traffic.deliveries.add_plain(wanted[0], deliver)
            self._traffic.want(wanted[0], lambda error: told.set_exception(error) if error else told.set_result(None))

        self._loop.submit(want)
        try:
            self._await(told, timeout)
        except AicoMemoryError:
            for given_up in wanted:
                self.end_subscription(given_up)
            raise
        return Subscription(self, wanted[0])

    def end_subscription(self, wanted: Wanted) -> None:
        """Deliver nothing more of this subscription."""

        def unwant() -> None:
            self._traffic.deliveries.remove_plain(wanted)
            self._traffic.unwant(wanted)

        if not self._closed:
            self._loop.submit(unwant)

    def consume(self, topics: Sequence[str], epoch: int, cursor: int) -> Consumer:
        """Read these durable topics from after `cursor` on, without a hole or a double; (0, 0): from the beginning."""
        self._check()
        limits = self._settings
        merge = ConsumerMerge(topics, epoch, cursor, limits.consumer_records, limits.consumer_bytes)
        consumer = Consumer(merge, self._loop.wake, self._end_consumer)

        def want() -> None:
            wanted = self._traffic.book.add(topics, [HEADS_TOPIC, marks_topic(topics)], consumer=True)
            self._traffic.deliveries.consumers[consumer] = wanted
            if self._refused is not None:
                consumer.fail(self._refused)
            if self._welcome is not None:
                consumer.journal(self._welcome.epoch)

        self._loop.submit(want)
        return consumer

    def close(self) -> None:
        """Wait (bounded) for what is on its way, then end; what is open gets ClosedConnection."""
        if os.getpid() != self._pid or self._closed:
            return
        self._closed = True
        atexit.unregister(self.close)
        if self._loop.thread.ident is None:
            self._loop.discard()
        elif self._loop.thread.is_alive():
            self._loop.stop(self._settings.close_seconds if self.connected else 0)
            if threading.current_thread() is not self._loop.thread:
                self._loop.thread.join(self._settings.close_seconds + 2)

    def __enter__(self) -> Link:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _enter(self, entries: list[tuple[OutgoingRecord, tuple[Ticket, int]]], timeout: float | None) -> None:
        self._check()
        deadline = time.monotonic() + (self._settings.publish_seconds if timeout is None else timeout)
        sizes = [len(record.envelope) for record, _ in entries]
        if threading.current_thread() is self._loop.thread:
            self._room.overdraw(sizes)
            self._loop.publish(entries)
            return
        at = 0
        while at < len(entries):
            taken = self._room.take(sizes[at:] if at else sizes, deadline, self._check)
            if not taken:
                raise self._too_slow(at, len(entries))
            self._loop.publish(entries[at : at + taken])
            at += taken

    def _too_slow(self, sent: int, count: int) -> AicoMemoryError:
        if not self.connected:
            return self._error or BusUnavailable("The bus is away and the window of unacknowledged publishes is full")
        return DeadlineExceeded(f"The bus took {sent} of {count} records in time; its window is full")

    def _turned(self, welcome: bus_pb2.Welcome | None, error: AicoMemoryError | None, final: bool) -> None:
        with self._state:
            self._welcome = welcome
            if welcome is not None:
                self._last_welcome = welcome
                self._error = self._refused = None
            else:
                self._error = error
                self._refused = error if final else self._refused
            self._state.notify_all()
        if welcome is not None and self.on_connect is not None:
            self.on_connect()

    def _answers_told(self, error: AicoMemoryError | None) -> None:
        with self._state:
            if error is None:
                self._answers_live.set()
            else:
                self._refused = error
            self._state.notify_all()

    def _await(self, told: Future[None], timeout: float | None) -> None:
        try:
            told.result(self._settings.request_seconds if timeout is None else timeout)
        except TimeoutError:
            raise self._error or DeadlineExceeded("The bus did not confirm the subscription in time") from None

    def _end_consumer(self, consumer: Consumer) -> None:
        def unwant() -> None:
            wanted = self._traffic.deliveries.consumers.pop(consumer, None)
            if wanted is not None:
                self._traffic.unwant(wanted)

        if not self._closed:
            self._loop.submit(unwant)

    def _check(self) -> None:
        if os.getpid() != self._pid:
            raise ClosedConnection("This process was forked from the one that opened the connection to the bus")
        if self._closed:
            raise ClosedConnection("The connection to the bus was closed")
        if self._refused is not None:
            raise self._refused

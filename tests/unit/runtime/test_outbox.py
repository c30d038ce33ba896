"""What a transaction emits leaves from its own thread where it can, in any case once, and under the same ids."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from structlog.testing import CapturingLogger

from aico_memory.contracts.wire import OutgoingRecord, reply_topic
from aico_memory.errors import BusUnavailable
from aico_memory.runtime.outbox import AT_ONCE, Outbox
from aico_memory.stores.sql.twin import MemoryConsumerState
from tests.unit.runtime.worker import QUICK, STORED_TOPIC


class SlowLink:
    """Takes what it is given; a test says when it is acknowledged."""

    def __init__(self) -> None:
        self.published: list[OutgoingRecord] = []
        self.sent: list[OutgoingRecord] = []
        self.futures: list[Future[Any]] = []
        self.room = True
        self.away = False

    def has_room(self, records: int, size: int) -> bool:
        return self.room

    def publish(self, records: Any) -> list[Future[Any]]:
        if self.away:
            raise BusUnavailable("away")
        fresh: list[Future[Any]] = [Future() for _ in records]
        # What is seen to be published can be acknowledged.
        self.futures += fresh
        self.published += records
        return fresh

    def send(self, record: OutgoingRecord) -> None:
        if self.away:
            raise BusUnavailable("away")
        self.sent.append(record)

    def acknowledge(self) -> None:
        for future in self.futures:
            if not future.done():
                future.set_result(None)


class Place:
    """An outbox whose thread was not started: what leaves is what the caller's thread let go."""

    def __init__(self) -> None:
        self.state, self.link = MemoryConsumerState(), SlowLink()
        handlers: Any = type("Worker", (), {"state": self.state, "name": "working"})()
        log: Any = CapturingLogger()
        link: Any = self.link
        self.outbox = Outbox(handlers, link, QUICK, log, lambda: 1, lambda: 1, lambda: None)

    def commit(self, *records: OutgoingRecord) -> None:
        with self.state.transaction() as transaction:
            for record in records:
                transaction.emit(record)
        self.outbox.hand_over(transaction.emitted)

    def end(self) -> bool:
        """What the thread would do, in this one."""
        return self.outbox.close(2.0)


def durable(number: int) -> OutgoingRecord:
    return OutgoingRecord(number.to_bytes(16, "big"), STORED_TOPIC, "ana", b"words")


def answer(number: int) -> OutgoingRecord:
    return OutgoingRecord(number.to_bytes(16, "big"), reply_topic("default", bytes(16)), "ana", b"words")


def started(place: Place) -> Place:
    place.outbox.start()
    return place


def test_answers_and_records_leave_with_the_commit_and_once() -> None:
    place = Place()
    place.commit(durable(1), answer(2), durable(3))
    assert place.link.published == [durable(1), durable(3)]
    assert place.link.sent == [answer(2)]
    place.link.acknowledge()
    assert started(place).end()
    assert (len(place.link.published), len(place.link.sent)) == (2, 1)
    assert place.state.outgoing(10) == []


def test_what_flies_stays_outgoing_until_it_is_acknowledged() -> None:
    place = Place()
    place.commit(durable(1))
    assert place.state.outgoing(10) == [durable(1)]
    place.link.acknowledge()
    assert started(place).end()
    assert place.state.outgoing(10) == []


def test_many_records_and_those_without_room_go_by_way_of_the_thread() -> None:
    place = Place()
    place.commit(*(durable(number) for number in range(AT_ONCE + 1)))
    place.link.room = False
    place.commit(durable(100))
    assert place.link.published == []
    started(place)
    while len(place.link.published) <= AT_ONCE + 1:
        place.link.acknowledge()
    place.link.acknowledge()
    assert place.end()
    assert [one.event_id for one in place.link.published] == [durable(n).event_id for n in (*range(AT_ONCE + 1), 100)]


def test_nothing_overtakes_what_was_left_to_the_thread() -> None:
    place = Place()
    many = [durable(number) for number in range(AT_ONCE + 1)]
    place.commit(*many)
    place.commit(durable(100))
    assert place.link.published == [], "a later transaction would be heard of before an earlier one"
    started(place)
    while len(place.link.published) <= AT_ONCE + 1:
        place.link.acknowledge()
    place.link.acknowledge()
    assert place.end()
    assert place.link.published == [*many, durable(100)]


def test_once_the_thread_has_caught_up_records_leave_with_the_commit_again() -> None:
    place = Place()
    place.commit(*(durable(number) for number in range(AT_ONCE + 1)))
    started(place)
    while place.state.outgoing(1):
        place.link.acknowledge()
    assert place.end()
    place.commit(durable(100))
    assert place.link.published[-1] == durable(100)


def test_what_cannot_leave_with_the_commit_leaves_later() -> None:
    place = Place()
    place.link.away = True
    place.commit(durable(1), answer(2))
    assert (place.link.published, place.link.sent) == ([], [])
    place.link.away = False
    started(place)
    while not place.link.futures:
        place.outbox.wake()
    place.link.acknowledge()
    assert place.end()
    assert (place.link.published, place.link.sent) == ([durable(1)], [answer(2)])

"""Durable consumers over real sockets."""

from __future__ import annotations

import uuid

import pytest

from aico_memory.bus.consumer import Consumer
from aico_memory.bus.link import Link
from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.errors import AccessDenied, JournalLost

FIRST = "memory/working/message/v1/"
SECOND = "memory/behavioral/feedback/v1/"
OTHER = "memory/working/turn/v1/"
PATIENCE = 60.0


def _records(count: int) -> list[OutgoingRecord]:
    return [OutgoingRecord(uuid.uuid4().bytes, (FIRST, SECOND, OTHER)[n % 3], "u", b"x" * 100) for n in range(count)]


def _read(consumer: Consumer, count: int) -> list[int]:
    seen: list[int] = []
    while len(seen) < count:
        got = consumer.receive(64, PATIENCE)
        assert got, f"only {len(seen)} of {count} arrived"
        seen += [record.global_sequence for record in got]
    return seen


def _mine(fake, after: int = 0) -> list[int]:
    return [record.global_sequence for record in fake.log if record.topic != OTHER and record.global_sequence > after]


def test_a_consumer_reads_the_journal_and_goes_on_live(link: Link, fake) -> None:
    link.publish_bulk(_records(300)).result(PATIENCE)
    consumer = link.consume([FIRST, SECOND], 0, 0)
    before = _read(consumer, 200)
    link.publish_bulk(_records(300)).result(PATIENCE)
    assert before + _read(consumer, 200) == _mine(fake)
    assert consumer.epoch == fake.epoch


def test_a_lost_live_record_is_read_from_the_journal_before_later_ones_of_other_topics(link: Link, fake) -> None:
    consumer = link.consume([FIRST, SECOND], 0, 0)
    link.publish_bulk(_records(3)).result(PATIENCE)
    _read(consumer, 2)
    fake.drop_live = lambda record: record.global_sequence % 7 == 4
    for _ in range(10):
        link.publish_bulk(_records(9)).result(PATIENCE)
    assert _read(consumer, 60) == _mine(fake, after=3)
    assert consumer.counters["gaps"] > 0


def test_a_loss_at_the_tail_shows_by_the_beacon(link: Link, fake) -> None:
    consumer = link.consume([FIRST, SECOND], 0, 0)
    link.publish_bulk(_records(3)).result(PATIENCE)
    _read(consumer, 2)
    fake.marks = False
    fake.drop_live = lambda record: True
    link.publish_bulk(_records(3)).result(PATIENCE)
    assert _read(consumer, 2) == _mine(fake, after=3)


def test_a_slow_consumer_loses_nothing_and_holds_a_bounded_number(fake, alice, settings) -> None:
    from aico_memory.clock import SystemClock

    small = settings.model_copy(update={"consumer_records": 32, "range_records": 16})
    with Link(lambda: fake.address, alice, settings=small, clock=SystemClock()) as link:
        link.start()
        consumer = link.consume([FIRST, SECOND], 0, 0)
        for _ in range(20):
            link.publish_bulk(_records(30)).result(PATIENCE)
        assert len(consumer._merge.ready) <= 32 + 16
        assert _read(consumer, 400) == _mine(fake)


def test_another_journal_is_said(link: Link) -> None:
    consumer = link.consume([FIRST], 99, 5)
    with pytest.raises(JournalLost, match="99"):
        consumer.receive(10, PATIENCE)


def test_a_refused_topic_is_said(link: Link, fake) -> None:
    fake.deny = {FIRST}
    consumer = link.consume([FIRST], 0, 0)
    with pytest.raises(AccessDenied):
        consumer.receive(10, PATIENCE)

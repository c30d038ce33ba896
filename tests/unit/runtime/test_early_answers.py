"""Answers that leave before their transaction stands: whoever has one finds what it tells of, and nothing is lost with them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from structlog.testing import CapturingLogger

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.wire import REPLY_PREFIX, OutgoingRecord, reply_topic
from aico_memory.errors import StorageFull
from aico_memory.runtime.inbox import Inbox
from aico_memory.stores.sql.twin import MemoryConsumerState
from tests.support.twin_bus import TwinBus
from tests.unit.runtime.conftest import StartWorker
from tests.unit.runtime.test_outbox import Place, answer, durable, started
from tests.unit.runtime.worker import MESSAGE_TOPIC, QUICK, STORED_TOPIC, Keeper, message_record

REPLIES = reply_topic("client", bytes(16))


class Early(Keeper):
    """Lets its answers go early where every message says so, and gathers what it publishes."""

    lingers = True

    def answers_early(self, events: Sequence[Event]) -> bool:
        return all(event.message.content.startswith("early") for event in events)


class Reception:
    """An inbox without threads; notes what left before and what after the commit."""

    def __init__(self, fail: Callable[[Event], None] = lambda event: None) -> None:
        self.bus = TwinBus()
        self.handlers = Early(fail)
        self.state: MemoryConsumerState = self.handlers.state
        self.early: list[tuple[str, int]] = []
        self.after: list[str] = []
        log: Any = CapturingLogger()
        self.inbox = Inbox(
            self.handlers, 1, QUICK, log, lambda: 1, threading.Event(),
            hand_over=lambda emitted: self.after.extend(record.topic for record in emitted), answer_early=self._answer,
        )  # fmt: skip

    def take(self, *contents: str) -> None:
        self.inbox.apply([self.bus.put(message_record(content, reply_to=REPLIES)) for content in contents])

    def _answer(self, emitted: Sequence[OutgoingRecord]) -> list[OutgoingRecord]:
        gone = [record for record in emitted if record.topic.startswith(REPLY_PREFIX)]
        self.early += [(record.topic, self.inbox.applied) for record in gone]
        return gone


def test_an_early_answer_leaves_before_the_commit_and_not_again_after_it() -> None:
    place = Reception()
    place.take("early one")
    assert place.early == [(REPLIES, 0)]
    assert place.after == [STORED_TOPIC]
    assert place.inbox.applied == 1


def test_answers_of_a_batch_with_anything_else_in_it_wait_for_the_commit() -> None:
    place = Reception()
    place.take("early one", "a message")
    assert place.early == []
    assert sorted(place.after) == sorted([STORED_TOPIC, REPLIES] * 2)


def test_what_was_answered_early_is_applied_all_the_same_where_the_commit_fails_at_first() -> None:
    place = Reception()
    commit, full = place.state._commit, [StorageFull("no room")]

    def failing(transaction: Any) -> None:
        if full:
            raise full.pop()
        commit(transaction)

    place.state._commit = failing  # type: ignore[method-assign]
    place.take("early one")
    assert place.inbox.applied == 1
    assert len(place.early) == 2
    place.inbox.wait_standing()
    assert place.after == [STORED_TOPIC]


def test_a_question_waits_for_the_transaction_whose_answer_it_follows() -> None:
    place = Reception()
    asked = threading.Event()
    told: list[int] = []

    def ask() -> None:
        asked.set()
        place.inbox.wait_standing()
        told.append(place.state.cursor()[1])

    asking = threading.Thread(target=ask)

    def answered(emitted: Sequence[OutgoingRecord]) -> list[OutgoingRecord]:
        asking.start()
        assert asked.wait(60)
        return []

    place.inbox._answer_early = answered
    place.take("early one")
    asking.join(60)
    assert told == [1]


def test_records_that_nobody_waits_for_are_gathered_and_answers_are_not() -> None:
    place = Place()
    place.outbox._lingering = True
    place.commit(durable(1), answer(2))
    place.commit(durable(3))
    assert place.link.published == []
    assert place.link.sent == [answer(2)]
    place.link.acknowledge()
    started(place).end()
    assert place.link.published == [durable(1), durable(3)]
    assert place.link.sent == [answer(2)]


def test_a_worker_that_answers_early_publishes_and_settles_everything(bus: TwinBus, start_worker: StartWorker) -> None:
    worker = start_worker(Early())
    client = bus.link("client")
    stamped = [bus.put(message_record(f"early {number}", reply_to=client.reply_topic)) for number in range(5)]
    assert bus.wait_for(lambda: len(bus.of_topic(STORED_TOPIC)) == 5)
    assert bus.wait_for(lambda: any(report["settled"] >= stamped[-1].global_sequence for report in bus.reports))
    assert len({sent.event_id for sent in bus.ephemeral if sent.topic == client.reply_topic}) == 5
    assert worker.handlers.kept == [f"early {number}" for number in range(5)]
    assert len(bus.of_topic(MESSAGE_TOPIC)) == 5

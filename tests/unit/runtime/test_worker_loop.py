"""The life of a worker on a twin bus."""

from __future__ import annotations

import threading
import uuid

import pytest

from aico_memory.contracts.envelope import Event
from aico_memory.errors import DeadlineExceeded, JournalLost
from aico_memory.ids import derive_id
from tests.support.twin_bus import TwinBus
from tests.unit.runtime.conftest import StartWorker
from tests.unit.runtime.worker import DEAD_LETTER_TOPIC, QUICK, STORED_TOPIC, Keeper, message_record  # fmt: skip


def test_what_was_published_before_the_start_is_applied_before_the_worker_is_ready(
    bus: TwinBus, start_worker: StartWorker
) -> None:
    for number in range(700):
        bus.put(message_record(f"m{number}"))
    worker = start_worker(Keeper())
    assert worker.ready.wait(60)
    assert worker.handlers.kept == [f"m{number}" for number in range(700)]
    assert max(worker.handlers.prepared) <= QUICK.batch_records


def test_what_a_transaction_emits_is_published_and_then_reported_as_settled(bus: TwinBus, start_worker: StartWorker) -> None:
    start_worker(Keeper())
    record = message_record("hello")
    stamped = bus.put(record)
    assert bus.wait_for(lambda: bus.of_topic(STORED_TOPIC))
    assert bus.wait_for(lambda: any(report["settled"] >= stamped.global_sequence for report in bus.reports))
    assert bus.of_topic(STORED_TOPIC)[0].id == derive_id(uuid.UUID(bytes=record.event_id), "stored")


def test_nothing_is_settled_while_the_outbox_cannot_be_published(bus: TwinBus, start_worker: StartWorker) -> None:
    worker = start_worker(Keeper())
    assert worker.ready.wait(60)
    bus.away = True
    stamped = bus.put(message_record("hello"))
    assert bus.wait_for(lambda: any(report["applied"] >= stamped.global_sequence for report in bus.reports))
    assert all(report["settled"] < stamped.global_sequence for report in bus.reports)
    bus.away = False
    assert bus.wait_for(lambda: any(report["settled"] >= stamped.global_sequence for report in bus.reports))


def test_nothing_is_settled_before_the_derived_effects_are_done(bus: TwinBus, start_worker: StartWorker) -> None:
    handlers = Keeper()
    handlers.settled_at = 0
    start_worker(handlers)
    stamped = bus.put(message_record("hello"))
    assert bus.wait_for(lambda: any(report["applied"] >= stamped.global_sequence for report in bus.reports))
    assert all(report["settled"] == 0 for report in bus.reports)


def test_after_a_clean_end_the_first_batch_is_one_transaction(bus: TwinBus, start_worker: StartWorker) -> None:
    handlers = Keeper()
    for number in range(5):
        bus.put(message_record(f"m{number}"))
    worker = start_worker(handlers)
    assert worker.ready.wait(60)
    assert handlers.prepared == [5]


def test_a_second_worker_goes_on_where_the_first_ended_and_applies_nothing_twice(
    bus: TwinBus, start_worker: StartWorker
) -> None:
    handlers = Keeper()
    first = start_worker(handlers)
    bus.put(message_record("one"))
    assert bus.wait_for(lambda: bus.of_topic(STORED_TOPIC))
    first.end()
    bus.put(message_record("two"))
    second = start_worker(handlers)
    assert second.ready.wait(60)
    assert handlers.kept == ["one", "two"]


def test_records_of_a_forgotten_user_are_passed_over(bus: TwinBus, start_worker: StartWorker) -> None:
    record = message_record("gone")
    bus.put(type(record)(record.event_id, record.topic, record.user, b""))
    worker = start_worker(Keeper())
    assert worker.ready.wait(60)
    assert worker.handlers.state.cursor()[1] == 1
    assert worker.handlers.kept == []
    assert not bus.of_topic(DEAD_LETTER_TOPIC)


def test_a_store_that_follows_another_journal_refuses_to_run(bus: TwinBus, start_worker: StartWorker) -> None:
    handlers = Keeper()
    with handlers.state.transaction() as transaction:
        transaction.set_cursor(99, 5)
    with pytest.raises(JournalLost, match="follows the journal"):
        start_worker(handlers)


def test_a_record_that_takes_long_is_an_alarm_with_its_id(bus: TwinBus, start_worker: StartWorker) -> None:
    reached, go_on = threading.Event(), threading.Event()

    def hold(event: Event) -> None:
        reached.set()
        assert go_on.wait(60)

    worker = start_worker(Keeper(hold), QUICK.model_copy(update={"slow_seconds": 1e-6}))
    assert worker.ready.wait(60)
    assert worker.loop.status()["alarms"] == []
    record = message_record("hello")
    bus.put(record)
    assert reached.wait(60)
    (alarm,) = worker.loop.status()["alarms"]
    assert f"has been applying {uuid.UUID(bytes=record.event_id)} for 0 s" == alarm
    go_on.set()
    assert bus.wait_for(lambda: worker.loop.status()["alarms"] == [])


def test_a_stopping_worker_publishes_its_outbox_and_closes_its_store(bus: TwinBus, start_worker: StartWorker) -> None:
    worker = start_worker(Keeper())
    worker.ready.wait(60)
    bus.away = True
    bus.put(message_record("late"))
    assert bus.wait_for(lambda: any(report["applied"] == 1 for report in bus.reports))
    bus.away = False
    worker.end()
    assert bus.of_topic(STORED_TOPIC)
    assert worker.handlers.closed


def test_a_stopping_worker_does_not_wait_for_ever_for_a_bus_that_is_away(bus: TwinBus, start_worker: StartWorker) -> None:
    worker = start_worker(Keeper(), QUICK.model_copy(update={"drain_seconds": 0.05}))
    worker.ready.wait(60)
    bus.away = True
    bus.put(message_record("never sent"))
    assert bus.wait_for(lambda: any(report["applied"] == 1 for report in bus.reports))
    worker.end()
    assert len(worker.handlers.state.outgoing(10)) == 1


def test_heartbeats_and_timers_go_on_while_nothing_arrives(bus: TwinBus, start_worker: StartWorker) -> None:
    worker = start_worker(Keeper())
    assert worker.handlers.idled.wait(60)
    assert bus.wait_for(lambda: any(sent.topic == "memory/bus/heartbeat/v1/" for sent in bus.ephemeral))


def test_an_outgoing_record_that_met_a_deadline_is_published_again_under_its_id(
    bus: TwinBus, start_worker: StartWorker
) -> None:
    published: list[bytes] = []

    def refuse(record: object) -> DeadlineExceeded | None:
        published.append(record.event_id)  # type: ignore[attr-defined]
        return DeadlineExceeded("slow") if len(published) == 1 else None

    bus.refuse = refuse
    start_worker(Keeper())
    bus.put(message_record("x"))
    assert bus.wait_for(lambda: bus.of_topic(STORED_TOPIC))
    assert len(set(published)) == 1

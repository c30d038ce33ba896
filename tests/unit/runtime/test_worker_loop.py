"""The life of a worker on a twin bus."""

from __future__ import annotations

import json
import uuid

import pytest

from aico_memory.contracts.envelope import Event, open_record
from aico_memory.contracts.v1 import bus_pb2, working_pb2
from aico_memory.errors import DeadlineExceeded, JournalLost, NotFound, StorageFull, TooLarge
from aico_memory.ids import derive_id
from tests.support.twin_bus import TwinBus
from tests.unit.runtime.conftest import StartWorker
from tests.unit.runtime.worker import (
    DEAD_LETTER_TOPIC,
    MESSAGE_TOPIC,
    QUICK,
    STORED_TOPIC,
    Keeper,
    broken_record,
    message_record,
)  # fmt: skip


def test_what_was_published_before_the_start_is_applied_before_the_worker_is_ready(
    bus: TwinBus, start_worker: StartWorker
) -> None:
    for number in range(700):
        bus.put(message_record(f"m{number}"))
    worker = start_worker(Keeper())
    assert worker.ready.wait(10)
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
    assert worker.ready.wait(10)
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


def test_a_record_that_cannot_be_decoded_is_a_dead_letter_at_once_and_the_next_is_applied(
    bus: TwinBus, start_worker: StartWorker
) -> None:
    worker = start_worker(Keeper())
    broken = broken_record()
    bus.put(broken)
    bus.put(message_record("after it"))
    assert bus.wait_for(lambda: bus.of_topic(DEAD_LETTER_TOPIC) and bus.of_topic(STORED_TOPIC))
    letter = open_record(bus.of_topic(DEAD_LETTER_TOPIC)[0]).message
    assert (letter.consumer, letter.code, letter.attempts) == ("working", "invalid_message", 1)
    assert letter.record == broken.envelope
    assert worker.handlers.kept == ["after it"]


def test_a_record_that_fails_is_tried_again_and_then_is_a_dead_letter_without_peoples_words(
    bus: TwinBus, start_worker: StartWorker
) -> None:
    tried: list[str] = []

    def fail(event: Event) -> None:
        if event.message.content.startswith("secret"):
            tried.append(event.message.content)
            raise ValueError(event.message.content)

    worker = start_worker(Keeper(fail))
    assert worker.ready.wait(10)
    for content in ("one", "secret plan", "two"):
        bus.put(message_record(content))
    assert bus.wait_for(lambda: bus.of_topic(DEAD_LETTER_TOPIC) and len(bus.of_topic(STORED_TOPIC)) == 2)
    letter = open_record(bus.of_topic(DEAD_LETTER_TOPIC)[0]).message
    assert letter.attempts == QUICK.max_attempts
    assert "secret" not in letter.reason
    # The batch may have failed once before its records went one by one.
    assert QUICK.max_attempts <= len(tried) <= QUICK.max_attempts + 1
    assert worker.handlers.kept[-1] == "two"


def test_whoever_waits_for_a_failed_command_gets_the_typed_error(bus: TwinBus, start_worker: StartWorker) -> None:
    def fail(event: Event) -> None:
        raise TooLarge("Too much of it")

    start_worker(Keeper(fail))
    client = bus.link("client")
    record = message_record("x", reply_to=client.reply_topic)
    bus.put(record)
    assert bus.wait_for(lambda: any(sent.topic == client.reply_topic for sent in bus.ephemeral))
    reply = next(sent for sent in bus.ephemeral if sent.topic == client.reply_topic)
    assert b"too_large" in reply.envelope


def test_a_full_disk_is_waited_for_and_costs_no_attempt(bus: TwinBus, start_worker: StartWorker) -> None:
    refusals = iter([StorageFull("full")] * 20)

    def fail(event: Event) -> None:
        error = next(refusals, None)
        if error is not None:
            raise error

    worker = start_worker(Keeper(fail))
    bus.put(message_record("patience"))
    assert bus.wait_for(lambda: bus.of_topic(STORED_TOPIC))
    assert worker.handlers.kept == ["patience"]
    assert not bus.of_topic(DEAD_LETTER_TOPIC)


def test_an_event_that_killed_the_process_each_time_is_given_up_at_the_next_start(
    bus: TwinBus, start_worker: StartWorker
) -> None:
    handlers = Keeper()
    record = message_record("deadly")
    bus.put(record)
    # What processes leave behind that die while they apply: the first in a batch, the others at the record alone.
    handlers.state.note_attempt(derive_id(uuid.UUID(bytes=record.event_id), "first batch").bytes)
    for _ in range(QUICK.max_attempts):
        handlers.state.note_attempt(record.event_id)
    start_worker(handlers)
    assert bus.wait_for(lambda: bus.of_topic(DEAD_LETTER_TOPIC))
    assert "died" in open_record(bus.of_topic(DEAD_LETTER_TOPIC)[0]).message.reason
    assert handlers.kept == []


def test_after_a_death_in_the_first_batch_its_records_go_one_by_one_and_are_counted(
    bus: TwinBus, start_worker: StartWorker
) -> None:
    handlers = Keeper()
    records = [message_record(f"m{number}") for number in range(5)]
    for record in records:
        bus.put(record)
    handlers.state.note_attempt(derive_id(uuid.UUID(bytes=records[0].event_id), "first batch").bytes)
    worker = start_worker(handlers)
    assert worker.ready.wait(10)
    assert handlers.prepared == [1] * 5
    assert handlers.kept == [f"m{number}" for number in range(5)]


def test_after_a_clean_end_the_first_batch_is_one_transaction(bus: TwinBus, start_worker: StartWorker) -> None:
    handlers = Keeper()
    for number in range(5):
        bus.put(message_record(f"m{number}"))
    worker = start_worker(handlers)
    assert worker.ready.wait(10)
    assert handlers.prepared == [5]


def test_an_outgoing_record_that_the_bus_refuses_becomes_a_dead_letter_and_blocks_nothing(
    bus: TwinBus, start_worker: StartWorker
) -> None:
    refused = derive_id(uuid.UUID(int=1), "stored").bytes
    bus.refuse = lambda record: TooLarge("too large") if record.event_id == refused else None
    start_worker(Keeper())
    bus.put(message_record("first", event_id=uuid.UUID(int=1)))
    bus.put(message_record("second"))
    assert bus.wait_for(lambda: bus.of_topic(STORED_TOPIC) and bus.of_topic(DEAD_LETTER_TOPIC))
    letter = open_record(bus.of_topic(DEAD_LETTER_TOPIC)[0]).message
    assert (letter.event_id, letter.code, letter.topic) == (refused, "too_large", STORED_TOPIC)


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
    assert second.ready.wait(10)
    assert handlers.kept == ["one", "two"]


def test_records_of_a_forgotten_user_are_passed_over(bus: TwinBus, start_worker: StartWorker) -> None:
    record = message_record("gone")
    bus.put(type(record)(record.event_id, record.topic, record.user, b""))
    worker = start_worker(Keeper())
    assert worker.ready.wait(10)
    assert worker.handlers.state.cursor()[1] == 1
    assert worker.handlers.kept == []
    assert not bus.of_topic(DEAD_LETTER_TOPIC)


def test_a_store_that_follows_another_journal_refuses_to_run(bus: TwinBus, start_worker: StartWorker) -> None:
    handlers = Keeper()
    with handlers.state.transaction() as transaction:
        transaction.set_cursor(99, 5)
    with pytest.raises(JournalLost, match="follows the journal"):
        start_worker(handlers)


def test_requests_are_answered_while_others_wait(bus: TwinBus, start_worker: StartWorker) -> None:
    worker = start_worker(Keeper())
    worker.ready.wait(10)
    bus.put(message_record("hello"))
    assert bus.wait_for(lambda: bus.of_topic(STORED_TOPIC))
    client = bus.link("client")
    page = client.request(working_pb2.ReadMessages(user_id="ana"), user="ana").result(10)
    assert [stored.content for stored in page.messages] == ["hello"]


def test_a_refused_request_brings_its_typed_error_and_a_broken_one_no_words(bus: TwinBus, start_worker: StartWorker) -> None:
    start_worker(Keeper()).ready.wait(10)
    client = bus.link("client")
    with pytest.raises(NotFound):
        client.request(working_pb2.ReadMessages(user_id="ana", session_id="gone"), user="ana").result(10)
    with pytest.raises(Exception, match="ValueError") as caught:
        client.request(working_pb2.ReadMessages(user_id="ana", session_id="broken"), user="ana").result(10)
    assert "words of a person" not in str(caught.value)


def test_a_request_that_waited_past_its_deadline_is_dropped(bus: TwinBus, start_worker: StartWorker) -> None:
    handlers = Keeper()
    handlers.release.clear()
    settings = QUICK.model_copy(update={"request_threads": 1})
    worker = start_worker(handlers, settings)
    worker.ready.wait(10)
    client = bus.link("client")
    first = client.request(working_pb2.ReadMessages(user_id="ana"), user="ana")
    late = client.request(working_pb2.ReadMessages(user_id="ana"), user="ana", timeout=0.0)
    last = client.request(working_pb2.ReadMessages(user_id="ana"), user="ana")
    handlers.release.set()
    assert first.result(10) is not None
    assert last.result(10) is not None
    assert not late.done()
    requests = worker.loop.status()["requests"]
    assert isinstance(requests, dict)
    assert requests["expired"] == 1


def test_a_request_that_is_asked_again_meanwhile_is_worked_on_once(bus: TwinBus, start_worker: StartWorker) -> None:
    keeper = Keeper()
    keeper.release.clear()
    worker = start_worker(keeper)
    worker.ready.wait(10)
    client = bus.link("client")
    question = uuid.uuid4()
    client.request(working_pb2.ReadMessages(user_id="ana"), user="ana", event_id=question)
    again = client.request(working_pb2.ReadMessages(user_id="ana"), user="ana", event_id=question)
    keeper.release.set()
    assert again.result(10) is not None
    client.request(working_pb2.ReadMessages(user_id="ana"), user="ana").result(10)
    requests = worker.loop.status()["requests"]
    assert isinstance(requests, dict)
    assert requests["answered"] == 2


def test_status_and_export_are_answered_by_the_process_that_is_named(bus: TwinBus, start_worker: StartWorker) -> None:
    start_worker(Keeper()).ready.wait(10)
    bus.put(message_record("b"))
    bus.put(message_record("a"))
    assert bus.wait_for(lambda: len(bus.of_topic(STORED_TOPIC)) == 2)
    client = bus.link("client")
    other = client.request(bus_pb2.WorkerStatusRequest(process="semantic"))
    status = json.loads(client.request(bus_pb2.WorkerStatusRequest(process="working")).result(10).detail_json)
    assert (status["kept"], status["applied"]) == (2, bus.of_topic(MESSAGE_TOPIC)[-1].global_sequence)
    page = client.request(bus_pb2.ExportRequest(process="working")).result(10)
    assert (list(page.lines), list(page.omitted)) == (["a", "b"], ["working.message.position"])
    assert not other.done()


def test_a_stopping_worker_publishes_its_outbox_and_closes_its_store(bus: TwinBus, start_worker: StartWorker) -> None:
    worker = start_worker(Keeper())
    worker.ready.wait(10)
    bus.away = True
    bus.put(message_record("late"))
    assert bus.wait_for(lambda: any(report["applied"] == 1 for report in bus.reports))
    bus.away = False
    worker.end()
    assert bus.of_topic(STORED_TOPIC)
    assert worker.handlers.closed


def test_a_stopping_worker_does_not_wait_for_ever_for_a_bus_that_is_away(bus: TwinBus, start_worker: StartWorker) -> None:
    worker = start_worker(Keeper(), QUICK.model_copy(update={"drain_seconds": 0.05}))
    worker.ready.wait(10)
    bus.away = True
    bus.put(message_record("never sent"))
    assert bus.wait_for(lambda: any(report["applied"] == 1 for report in bus.reports))
    worker.end()
    assert len(worker.handlers.state.outgoing(10)) == 1


def test_heartbeats_and_timers_go_on_while_nothing_arrives(bus: TwinBus, start_worker: StartWorker) -> None:
    worker = start_worker(Keeper())
    assert worker.handlers.idled.wait(10)
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

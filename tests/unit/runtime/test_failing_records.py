"""Records that cannot be applied: tried again, given up as dead letters, and what they may not hold up."""

from __future__ import annotations

import uuid

from aico_memory.contracts.envelope import Event, open_record
from aico_memory.errors import StorageFull, TooLarge
from aico_memory.ids import derive_id
from tests.support.twin_bus import TwinBus
from tests.unit.runtime.conftest import StartWorker
from tests.unit.runtime.worker import DEAD_LETTER_TOPIC, QUICK, STORED_TOPIC, Keeper, broken_record, message_record  # fmt: skip


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
    assert worker.ready.wait(60)
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
    assert worker.ready.wait(60)
    assert handlers.prepared == [1] * 5
    assert handlers.kept == [f"m{number}" for number in range(5)]


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

"""A record that is sent again after one consumer gave it up: that one has it as the event it was, the others not twice."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from aico_memory.cli.letters import resend
from aico_memory.contracts.envelope import Event, open_record
from aico_memory.contracts.v1 import bus_pb2
from tests.support.twin_bus import TwinBus
from tests.unit.runtime.conftest import StartWorker
from tests.unit.runtime.worker import DEAD_LETTER_TOPIC, STORED_TOPIC, Keeper, message_record


def letter_of(bus: TwinBus, consumer: str) -> dict[str, Any]:
    """The last letter of the bus as the command line reads it; written by `consumer`."""
    record = bus.of_topic(DEAD_LETTER_TOPIC)[-1]
    letter: bus_pb2.DeadLetter = open_record(record).message
    return {
        "id": str(record.id), "record": letter.record.hex(), "truncated": letter.truncated, "topic": letter.topic,
        "user_id": letter.user_id, "sender": letter.sender, "consumer": consumer,
    }  # fmt: skip


def test_who_gave_a_record_up_has_it_as_the_event_it_was(bus: TwinBus, start_worker: StartWorker) -> None:
    mended: list[bool] = []

    def fail(event: Event) -> None:
        if not mended:
            raise ValueError

    worker = start_worker(Keeper(fail))
    old = message_record("a plan")
    bus.put(old)
    assert bus.wait_for(lambda: bus.of_topic(DEAD_LETTER_TOPIC))
    assert worker.handlers.kept == []
    mended.append(True)
    resend(bus.link("operator"), letter_of(bus, "working"), 7)  # type: ignore[arg-type]
    assert bus.wait_for(lambda: bus.of_topic(STORED_TOPIC))
    (stored,) = bus.of_topic(STORED_TOPIC)
    assert list(open_record(stored).message.event_ids) == [old.event_id]
    assert worker.handlers.kept == ["a plan"]


@pytest.mark.parametrize(
    ("sender", "kept"), [("operator", ["a plan", "after it"]), ("client", ["a plan", "a plan", "after it"])]
)
def test_who_had_it_has_it_no_second_time_where_the_operator_says_so(
    bus: TwinBus, start_worker: StartWorker, sender: str, kept: list[str]
) -> None:
    worker = start_worker(Keeper())
    bus.put(message_record("a plan", event_id=uuid.UUID(int=7)))
    letter = {
        "id": str(uuid.UUID(int=8)), "record": bus.journal[0].envelope.hex(), "topic": bus.journal[0].topic,
        "user_id": "ana", "sender": "client", "consumer": "semantic",
    }  # fmt: skip
    resend(bus.link(sender), letter, 7)  # type: ignore[arg-type]
    bus.put(message_record("after it"))
    assert bus.wait_for(lambda: len(bus.of_topic(STORED_TOPIC)) == len(kept))
    assert worker.handlers.kept == kept

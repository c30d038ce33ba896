"""Sending the record of a dead letter again."""

from __future__ import annotations

import uuid

import pytest

from aico_memory.cli.letters import resend
from aico_memory.contracts.envelope import open_record
from aico_memory.errors import InvalidMessage
from tests.support.twin_bus import TwinBus
from tests.unit.runtime.worker import message_record


def letter(record: bytes, truncated: bool = False, consumer: str = "semantic", number: int = 1) -> dict[str, object]:
    return {
        "id": str(uuid.UUID(int=number)), "record": record.hex(), "truncated": truncated, "topic": "memory/working/message/v1/",
        "user_id": "ana", "sender": "client", "consumer": consumer,
    }  # fmt: skip


@pytest.mark.parametrize("nobody", ["broker", "client"])
def test_what_the_bus_refused_is_sent_again_as_an_event_of_its_own_that_names_the_old_one(nobody: str) -> None:
    bus = TwinBus()
    old = message_record("once more")
    again = letter(old.envelope, consumer=nobody)
    fresh = resend(bus.link("operator"), again, 1_700_000_000_000_000)  # type: ignore[arg-type]
    event = open_record(bus.journal[0])
    assert event.event_id == fresh != uuid.UUID(bytes=old.event_id)
    assert (event.causation_id, event.again_of) == (uuid.UUID(bytes=old.event_id), None)
    assert (event.user, event.message.content) == ("ana", "once more")


def test_what_a_consumer_gave_up_is_sent_again_once_for_that_one_as_the_event_it_was() -> None:
    bus = TwinBus()
    old = message_record("once more")
    for _ in range(2):
        resend(bus.link("operator"), letter(old.envelope), 5)  # type: ignore[arg-type]
    (record,) = bus.journal
    event = open_record(record)
    assert (event.again_for, event.again_of) == ("semantic", uuid.UUID(bytes=old.event_id))
    assert event.event_id != event.again_of
    # It fails there again, and is sent again.
    resend(bus.link("operator"), letter(record.envelope, number=2), 6)  # type: ignore[arg-type]
    later = open_record(bus.journal[1])
    assert (later.again_for, later.again_of) == ("semantic", uuid.UUID(bytes=old.event_id))


def test_what_was_cut_or_cannot_be_read_is_not_sent_again() -> None:
    bus = TwinBus()
    for unusable in (letter(message_record("x").envelope, truncated=True), letter(b"\xff\xff")):
        with pytest.raises(InvalidMessage):
            resend(bus.link("operator"), unusable, 0)  # type: ignore[arg-type]
    assert bus.journal == []

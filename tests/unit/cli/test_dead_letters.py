"""Sending the record of a dead letter again."""

from __future__ import annotations

import uuid

import pytest

from aico_memory.cli.letters import resend
from aico_memory.contracts.envelope import open_record
from aico_memory.errors import InvalidMessage
from tests.support.twin_bus import TwinBus
from tests.unit.runtime.worker import message_record


def letter(record: bytes, truncated: bool = False) -> dict[str, object]:
    return {"record": record.hex(), "truncated": truncated, "topic": "memory/working/message/v1/", "user_id": "ana"}


def test_a_record_is_sent_again_as_an_event_of_its_own_that_names_the_old_one() -> None:
    bus = TwinBus()
    old = message_record("once more")
    fresh = resend(bus.link("operator"), letter(old.envelope), 1_700_000_000_000_000)  # type: ignore[arg-type]
    event = open_record(bus.journal[0])
    assert event.event_id == fresh != uuid.UUID(bytes=old.event_id)
    assert event.causation_id == uuid.UUID(bytes=old.event_id)
    assert (event.user, event.message.content) == ("ana", "once more")


def test_what_was_cut_or_cannot_be_read_is_not_sent_again() -> None:
    bus = TwinBus()
    for unusable in (letter(message_record("x").envelope, truncated=True), letter(b"\xff\xff")):
        with pytest.raises(InvalidMessage):
            resend(bus.link("operator"), unusable, 0)  # type: ignore[arg-type]
    assert bus.journal == []

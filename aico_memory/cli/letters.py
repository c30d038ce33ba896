"""Sending the record of a dead letter again."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from aico_memory.contracts.v1 import envelope_pb2
from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.errors import InvalidMessage
from aico_memory.ids import derive_id, new_id
from aico_memory.runtime.waiting import answered

if TYPE_CHECKING:
    from aico_memory.bus.link import Link

# Whose letters tell of frames that it refused.
BROKER = "broker"


def resend(link: Link, letter: dict[str, Any], now_us: int) -> uuid.UUID:
    """Publish the letter's record under a new id (its old one is taken); the new id.

    A consumer that gave it up has it as the event that it was, and nobody else has it twice. What no consumer has had, since
    the bus refused it, is an event of its own, whose causation id names the old one.
    """
    if letter.get("truncated"):
        raise InvalidMessage("The record was too large to be kept whole; it cannot be sent again")
    try:
        envelope = envelope_pb2.Envelope.FromString(bytes.fromhex(letter["record"]))
    except DecodeError:
        raise InvalidMessage("The record's envelope cannot be read; it would fail again", "Drop the dead letter.") from None
    old, consumer = envelope.event_id, letter["consumer"]
    if consumer in (BROKER, letter["sender"]):
        fresh = new_id(now_us)
        envelope.causation_id = old
    else:
        # The same letter sent twice is one record.
        fresh = derive_id(uuid.UUID(letter["id"]), "again")
        envelope.again_for, envelope.again_of = consumer, envelope.again_of or old
    envelope.event_id = fresh.bytes
    record = OutgoingRecord(
        fresh.bytes, letter["topic"], letter.get("user_id", ""), envelope.SerializeToString(deterministic=True)
    )
    answered(link.publish([record])[0], 30.0, "The publish")
    return fresh

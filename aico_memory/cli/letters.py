"""Sending the record of a dead letter again."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from aico_memory.contracts.v1 import envelope_pb2
from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.errors import InvalidMessage
from aico_memory.ids import new_id
from aico_memory.runtime.waiting import answered

if TYPE_CHECKING:
    from aico_memory.bus.link import Link


def resend(link: Link, letter: dict[str, Any], now_us: int) -> uuid.UUID:
    """Publish the letter's record as a new event (its old id is taken); the new id.

    The causation id names the old event.
    """
    if letter.get("truncated"):
        raise InvalidMessage("The record was too large to be kept whole; it cannot be sent again")
    try:
        envelope = envelope_pb2.Envelope.FromString(bytes.fromhex(letter["record"]))
    except DecodeError:
        raise InvalidMessage("The record's envelope cannot be read; it would fail again", "Drop the dead letter.") from None
    old = envelope.event_id
    fresh = new_id(now_us)
    envelope.event_id = fresh.bytes
    envelope.causation_id = old
    record = OutgoingRecord(
        fresh.bytes, letter["topic"], letter.get("user_id", ""), envelope.SerializeToString(deterministic=True)
    )
    answered(link.publish([record])[0], 30.0, "The publish")
    return fresh

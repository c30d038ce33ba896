"""What a person takes out of the course of their selections."""

from __future__ import annotations

from aico_memory.contracts.consumer_state import ConsumerTransaction
from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.errors import InvalidMessage, NotFound
from aico_memory.stores.behavioral.port import BehavioralRows
from services.behavioral.emitting import audit, emit

_EVER_US = 2**62


def delete_selections(transaction: ConsumerTransaction, rows: BehavioralRows, event: Event) -> behavioral_pb2.SelectionsDeleted:
    """Delete what was asked, chosen and why; thumbs, and what they have taught, stay.

    InvalidMessage for a time that is none, NotFound where nothing stands under a request id; nothing has changed then.
    """
    message = event.message
    if message.until_us < 0:
        raise InvalidMessage(f"until_us is {message.until_us}", "Give Unix microseconds, or 0 for everything.")
    gone = rows.delete_selections(event.user, message.request_id, message.until_us or _EVER_US)
    if message.request_id and not gone:
        raise NotFound("No selection of this user stands under this request id")
    emit(transaction, event, audit(event, "selections_deleted", {"selections": gone}), "audit")
    return behavioral_pb2.SelectionsDeleted(deleted=gone)

"""The answer that was given with a selected skill, in the trajectory of its request."""

from __future__ import annotations

from aico_memory.contracts.consumer_state import ConsumerTransaction
from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.domain.behavioral.records import NO_CONSENT
from aico_memory.errors import NotFound
from aico_memory.stores.behavioral.port import BehavioralRows
from aico_memory.vault.sealer import Sealer
from services.behavioral.emitting import audit, emit

RECORDED, DELETED, NO_TRAJECTORY = "recorded", "deleted", "no_trajectory"


def record_response(
    transaction: ConsumerTransaction, rows: BehavioralRows, event: Event, sealer: Sealer
) -> behavioral_pb2.ResponseRecorded:
    """Keep a `RecordResponse`, sealed, or delete what stands where it is empty; NotFound where no selection stands.

    Without consent nothing is kept, but what was kept before can be deleted. It has no time of its own: it is archived
    and deleted with its trajectory.
    """
    message, user = event.message, event.user
    if rows.selection(user, message.request_id) is None:
        raise NotFound("No selection of this user stands under this request id")
    text = message.response_text
    if text and not rows.user(user).behavioral:
        return behavioral_pb2.ResponseRecorded(status=NO_CONSENT)
    sealed = sealer.seal(text.encode(), response_context(message.request_id)) if text else None
    if not text:
        use = rows.trajectory(user, message.request_id)
        if use is not None and use.sealed_response is not None:
            emit(transaction, event, audit(event, "response_deleted", {"responses": 1}), "audit")
    kept = rows.put_response(user, message.request_id, sealed)
    return behavioral_pb2.ResponseRecorded(status=(RECORDED if text else DELETED) if kept else NO_TRAJECTORY)


def response_context(request_id: str) -> bytes:
    """What a sealed answer is bound to."""
    return b"trajectory/response\0" + request_id.encode()

"""What the behavioral worker says because of an event, in the transaction that applies it."""

from __future__ import annotations

import json
from collections.abc import Mapping

from google.protobuf.message import Message

from aico_memory.contracts.consumer_state import ConsumerTransaction
from aico_memory.contracts.envelope import Event, make_record
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import bus_pb2, sleep_pb2
from aico_memory.ids import derive_id


def emit(transaction: ConsumerTransaction, event: Event, message: Message, purpose: str) -> None:
    """Put a message into the outbox; its id derives from the event and the purpose, which is one for each message."""
    transaction.emit(
        make_record(
            message,
            event_id=derive_id(event.event_id, purpose),
            occurred_us=event.occurred_us,
            # What names no user outlives that user's data key.
            user=event.user if topic_of(message).needs_user else "",
            correlation_id=event.correlation_id,
            causation_id=event.event_id,
            traceparent=event.traceparent,
        )
    )


def emit_finished(transaction: ConsumerTransaction, event: Event, detail: str) -> None:
    """The end of a job, where the event is one's firing."""
    if getattr(event.message, "firing_id", ""):
        finished = sleep_pb2.JobFinished(firing_id=event.message.firing_id, outcome="done", detail=detail)
        emit(transaction, event, finished, "finished")


def audit(event: Event, action: str, detail: Mapping[str, object]) -> bus_pb2.AuditEvent:
    """What was done, by whom and to whom; no word of theirs."""
    return bus_pb2.AuditEvent(
        action=action,
        actor=event.sender,
        subject=event.user,
        detail_json=json.dumps(detail, sort_keys=True),
        at_us=event.occurred_us,
    )

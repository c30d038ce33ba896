"""What a person allows: learning from their behaviour, and long-term memory."""

from __future__ import annotations

from dataclasses import replace

from aico_memory.contracts.consumer_state import ConsumerTransaction
from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.domain.behavioral.records import Evolution
from aico_memory.stores.behavioral.port import BehavioralRows
from services.behavioral.emitting import audit, emit


def consent(transaction: ConsumerTransaction, rows: BehavioralRows, event: Event) -> behavioral_pb2.ConsentState:
    """Apply a `ConsentChanged`; what it does not name stays. What was learned stays, too, until it is allowed again."""
    message, before = event.message, rows.user(event.user)
    after = replace(
        before,
        behavioral=message.behavioral if message.HasField("behavioral") else before.behavioral,
        long_term=message.long_term if message.HasField("long_term") else before.long_term,
    )
    rows.put_user(event.user, after)
    for ordinal, what in enumerate(("behavioral", "long_term")):
        old, new = float(getattr(before, what)), float(getattr(after, what))
        if old != new:
            rows.add_evolution(Evolution(event.user, event.event_id, ordinal, "consent", what, event.occurred_us, old, new))
    if after != before:
        told = {"behavioral": after.behavioral, "long_term": after.long_term}
        emit(transaction, event, audit(event, "consent_changed", told), "audit")
    return behavioral_pb2.ConsentState(behavioral=after.behavioral, long_term=after.long_term)

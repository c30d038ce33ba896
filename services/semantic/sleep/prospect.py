"""Prospective memory: a plan whose time comes is announced once."""

from __future__ import annotations

import uuid

from aico_memory.contracts.envelope import Event, make_record
from aico_memory.contracts.v1 import semantic_pb2
from aico_memory.ids import derive_id
from aico_memory.settings.semantic import SemanticSettings
from aico_memory.stores.semantic.port import SemanticTransaction
from services.semantic.convert import id_text

_HOUR_US = 3_600_000_000


class Prospect:
    """Effect of `AnnounceDue`; by the time of its event, so that a replayed stream announces as it announced."""

    def __init__(self, figures: SemanticSettings) -> None:
        self._lead_us = int(figures.due_lead_hours * _HOUR_US)
        self._most = figures.due_at_once

    def announce(self, transaction: SemanticTransaction, event: Event) -> None:
        """Announce what is due; what is too much for one transaction follows with the next event.

        The announcement's id is the plan's own: were it published twice, it would be heard once.
        """
        at_us = event.received_us or event.occurred_us
        due = transaction.plans_due(at_us, self._lead_us, self._most)
        for plan in due:
            told = semantic_pb2.ForesightDue(user_id=plan.owner, memory_id=id_text(plan.memory_id), due_us=plan.due_us)
            event_id = derive_id(uuid.UUID(bytes=plan.memory_id), "due")
            record = make_record(told, event_id=event_id, occurred_us=at_us, user=plan.owner, causation_id=event.event_id)
            transaction.emit(record)
        if due:
            transaction.note_applied("due", {plan.memory_id: at_us for plan in due})

"""How much experiences resemble what their user asked last: the order of a replay follows it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import sleep_pb2
from aico_memory.domain.memory import record_of
from aico_memory.domain.scopes import scope_of
from aico_memory.errors import InvalidMessage
from aico_memory.stores.semantic.port import SemanticStore

# The most that one answer is reckoned for.
_EXPERIENCES = 5000
_QUESTIONS = 1000
# Stores keep places as signed integers of 64 bits.
_LAST_PLACE = (1 << 63) - 1


class Importance:
    """Answers from what is committed; in a thread of its own."""

    def __init__(self, store: SemanticStore, fingerprint: Callable[[], str]) -> None:
        self._store = store
        # Of the model whose vectors are in use; "" where there are none.
        self._fingerprint = fingerprint

    def page(self, event: Event) -> sleep_pb2.ImportancePage:
        """Mean cosine similarity of each record to the last questions: vectors are unit length, so their mean will do.

        Raises InvalidMessage where `before` is beyond any place on the bus.
        """
        message: sleep_pb2.ImportanceRequest = event.message
        if message.before > _LAST_PLACE:
            raise InvalidMessage("ImportanceRequest.before is no place on the bus")
        event_ids = message.event_ids[:_EXPERIENCES]
        page = sleep_pb2.ImportancePage(importance=[0.0] * len(event_ids))
        fingerprint = self._fingerprint()
        if not fingerprint or not message.questions:
            return page
        scope = scope_of(message.user_id, "", "")
        questions = self._store.questions(scope, fingerprint, min(message.questions, _QUESTIONS), message.before)
        page.questions = len(questions)
        if not questions:
            return page
        asked = np.mean(np.stack(questions), axis=0)
        records = [record_of(one) for one in event_ids if len(one) == 16]
        if len(records) < len(event_ids):
            return page
        vectors = self._store.vectors_of(records, fingerprint)
        page.importance[:] = [float(asked @ vectors[one]) if one in vectors else 0.0 for one in records]
        return page

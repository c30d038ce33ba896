"""Questions read by the language model, where it is configured for that; the rules stand in whenever it does not answer."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import NamedTuple

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import extraction_pb2
from aico_memory.domain.context.routing import INTENTS
from aico_memory.runtime.ports import LinkPort
from aico_memory.settings.context import ContextSettings
from services.context.tiers import Stopwatch, TierHealth, Tiers

LANGUAGE_MODEL, RULES = "language_model", "rules"
# Questions whose reading is at hand: it depends on nothing that is remembered, and each costs a part of the budget.
_AT_HAND = 500
# Of the time that is left: the memories are to be asked for as well.
_SHARE = 0.5


class Reading(NamedTuple):
    """What a language model says of a question; all empty where none is asked."""

    intent: str = ""
    passages: tuple[str, ...] = ()
    # Its name, or rules; and why it is the rules.
    read_by: str = ""
    missed: str = ""


class Understanding:
    """Asks the model service; thread-safe."""

    def __init__(self, link: LinkPort, settings: ContextSettings, health: TierHealth) -> None:
        self._link = link
        self._settings = settings
        self._health = health
        self._by_model = settings.understanding == "model"
        self._passages = settings.hypotheses if settings.expansion == "model" else 0
        self._known: OrderedDict[str, Reading] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, event: Event, query: str, watch: Stopwatch, total: float) -> Reading:
        """Within `context.understanding_ms`, and half of what is left of `total`, the milliseconds for the whole answer; what
        the model cannot say in time the rules say, and the answer tells why."""
        if not self._by_model and not self._passages:
            return Reading()
        with self._lock:
            known = self._known.get(query)
            if known is not None:
                self._known.move_to_end(query)
                return known
        settings, spent = self._settings, watch.elapsed()
        within = min(settings.understanding_ms, max(0.0, total - spent) * _SHARE)
        tiers = Tiers(self._link, self._health, watch, total=spent + within, reserve=0.0, probe=settings.probe_ms)
        question = extraction_pb2.UnderstandRequest(event_id=event.event_id.bytes, query=query, passages=self._passages)
        asked = tiers.ask(LANGUAGE_MODEL, LANGUAGE_MODEL, question, event.user)
        found: extraction_pb2.Understanding | None = tiers.take(asked)
        if found is None:
            return Reading(read_by=RULES, missed=asked.refused or "deadline_exceeded")
        if found.degraded or found.intent not in INTENTS:
            return Reading(read_by=RULES, missed=found.degraded or "unknown_intent")
        reading = Reading(found.intent if self._by_model else "", tuple(found.passages), found.answered_by)
        with self._lock:
            self._known[query] = reading
            while len(self._known) > _AT_HAND:
                self._known.popitem(last=False)
        return reading

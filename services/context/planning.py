"""From a question to what is asked of which tier: small talk, its kind, its parts."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import context_pb2
from aico_memory.domain.context.plan import Plan, plan_context
from aico_memory.domain.language.detection import certain_language
from aico_memory.domain.language.small_talk import small_talk
from aico_memory.settings.context import ContextSettings
from services.context.tables import ReadingTables
from services.context.tiers import Stopwatch
from services.context.understanding import Reading, Understanding


class Planning:
    """Reads questions, by rules and as far as it is configured by a language model."""

    def __init__(self, settings: ContextSettings, tables: ReadingTables, understanding: Understanding) -> None:
        self._settings = settings
        self._tables = tables
        self._understanding = understanding

    def plan(self, event: Event, request: context_pb2.ContextRequest, watch: Stopwatch, total: float) -> Plan:
        """`total`: milliseconds for the whole answer."""
        started = monotonic()
        gate = small_talk(request.query, self._tables.phrases.values())
        watch.note("gate", started)
        started = monotonic()
        reading = Reading() if gate else self._understanding.read(event, request.query, watch, total)
        intent = "general" if gate else reading.intent or self._tables.routing.intent(request.query)
        parts = () if gate else self._parts(request.query)
        dated = bool(request.as_of_us or request.known_as_of_us)
        plan = plan_context(request.query, gate, intent, parts, self._settings, dated=dated)
        watch.note("route", started)
        return replace(plan, passages=reading.passages, read_by=reading.read_by, missed=reading.missed)

    def _parts(self, query: str) -> tuple[str, ...]:
        """The questions that it asks at once, else the question about each whom it names together."""
        routing, most = self._tables.routing, self._settings.parts
        return routing.parts(query, most) or routing.of_each(query, certain_language(query, self._tables.words), most)

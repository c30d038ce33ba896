"""Answers about time: what held when, how it came to change, and where a number is heading."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from aico_memory.clock import Clock
from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import temporal_pb2
from aico_memory.domain.gate.statement import Known, Statement
from aico_memory.domain.memory import OPEN
from aico_memory.domain.temporal.as_known import as_known
from aico_memory.domain.temporal.evolution import Step, confirmations, evolution
from aico_memory.domain.temporal.series import field_series, stated_series
from aico_memory.domain.temporal.trends import Point
from aico_memory.domain.temporal.versions import Span, Version, at, during
from aico_memory.errors import InvalidMessage, NotFound
from aico_memory.runtime.trend_answers import trend_answer
from aico_memory.settings.identity import IdentitySettings
from aico_memory.settings.memory_model import EvolutionSettings
from aico_memory.stores.semantic.port import SemanticStore
from services.semantic.convert import beginning_us, id_text, present_us, scope_message
from services.semantic.reach import Asker, Meant, Reach, asker_of

VALUE, CONFIDENCE, UTILITY = "value", "confidence", "utility"
_PAGE, _MOST = 200, 1000
_UNIT = (0.0, 1.0)
_ANY = (-math.inf, math.inf)


class Timing:
    """Answers from the store's items and their histories; safe from many threads."""

    def __init__(self, store: SemanticStore, clock: Clock, figures: EvolutionSettings, identity: IdentitySettings) -> None:
        self._store = store
        self._clock = clock
        self._figures = figures
        self._identity = identity
        self._reach = Reach(store, figures.looked_at)

    def state(self, event: Event) -> temporal_pb2.HeldFacts:
        """What was true at a moment, as believed at another."""
        request: temporal_pb2.StateRequest = event.message
        asker = asker_of(event, self._identity)
        at_us = request.at_us or present_us(self._clock)
        known_us = at_us if request.snapshot else request.known_as_of_us or OPEN
        meant = self._reach.meant(request.about, asker)
        held = self._reach.of_kinds(at(meant.versions, at_us, known_us), meant, request.about.kinds)
        facts = []
        for version in held:
            belief = version.believed(known_us)
            span = (belief.valid_from_us, belief.valid_until_us) if belief else (at_us, OPEN)
            facts.append(_fact(version, _then(meant, version, known_us), asker, *span))
        return _page(facts, request.limit, request.after, at_us, known_us)

    def timeline(self, event: Event) -> temporal_pb2.HeldFacts:
        """What was true in [from, until), each piece of time once a key."""
        request: temporal_pb2.TimelineRequest = event.message
        asker = asker_of(event, self._identity)
        from_us, until_us = request.from_us or -OPEN, request.until_us or OPEN
        if from_us >= until_us:
            raise InvalidMessage("TimelineRequest.from_us is not before until_us")
        known_us = request.known_as_of_us or OPEN
        meant = self._reach.meant(request.about, asker)
        spans: Sequence[Span] = during(meant.versions, from_us, until_us, known_us)
        kinds = request.about.kinds
        facts = [
            _fact(span.version, _then(meant, span.version, known_us), asker, span.from_us, span.until_us)
            for span in spans
            if not kinds or meant.item(span.version).memory.kind in kinds
        ]
        return _page(facts, request.limit, request.after, request.from_us, known_us)

    def evolution(self, event: Event) -> temporal_pb2.EvolutionChain:
        """The chain of versions with causes. NotFound where nothing is known of what is asked for."""
        request: temporal_pb2.EvolutionRequest = event.message
        asker = asker_of(event, self._identity)
        meant = self._reach.key_of(request.about, asker)
        steps = [
            step
            for key in dict.fromkeys(one.key for one in meant.versions)
            for step in evolution(meant.versions, key, meant.said)
        ]
        steps.sort(key=lambda step: (step.known_at_us, step.from_us))
        most = min(request.limit or _PAGE, _MOST)
        answer = temporal_pb2.EvolutionChain(cut=len(steps) > most)
        answer.steps.extend(_step(step, meant.items[step.version_id], asker) for step in steps[-most:])
        return answer

    def trend(self, event: Event) -> temporal_pb2.TrendAnswer:
        """Trend and prediction of a number; unknown, with the reason, where the values are too few."""
        request: temporal_pb2.TrendRequest = event.message
        asker = asker_of(event, self._identity)
        if not (request.about.memory_id or request.about.predicate):
            raise InvalidMessage("A trend is that of one fact or of one reading", "Give memory_id or predicate.")
        what = request.what or VALUE
        series = self._series(what, self._reach.key_of(request.about, asker), request.about)
        bounds = _ANY if what == VALUE else _UNIT
        return trend_answer(series, bounds, request.since_us, request.until_us, request.predict_at_us, self._figures)

    def _series(self, what: str, meant: Meant, about: temporal_pb2.FactsAbout) -> tuple[Point, ...]:
        if what == VALUE:
            again = (
                (step, meant.item(version).value)
                for version in meant.versions
                for step in confirmations(version, meant.said[version.version_id])
            )
            return stated_series(self._statements(meant), meant.versions, again)
        if what not in {CONFIDENCE, UTILITY}:
            raise InvalidMessage(f"No trend of {what!r}", f"Ask for {VALUE}, {CONFIDENCE} or {UTILITY}.")
        memory = self._one(meant, about).memory
        return field_series(meant.histories[memory.memory_id], what, getattr(memory, what), memory.created_at_us)

    def _statements(self, meant: Meant) -> list[Statement]:
        keys = dict.fromkeys((one.memory.scope, one.memory.fact_key) for one in meant.items.values() if one.memory.fact_key)
        return [one for scope, key in keys for one in self._store.statements(scope, key, self._figures.looked_at)]

    def _one(self, meant: Meant, about: temporal_pb2.FactsAbout) -> Known:
        """The item that is asked for; of a reading the one that holds now."""
        if about.memory_id:
            return next(one for one in meant.items.values() if id_text(one.memory.memory_id) == about.memory_id.lower())
        held = at(meant.versions, present_us(self._clock), OPEN)
        if len(held) != 1:
            raise NotFound(f"{len(held)} facts of that hold now", "Give the memory_id of one.")
        return meant.item(held[0])


def _then(meant: Meant, version: Version, known_us: int) -> Known:
    """The item of a version as it was known at a moment."""
    item = meant.item(version)
    changes = meant.histories[item.memory.version_of or item.memory.memory_id]
    return replace(item, memory=as_known(item.memory, changes, known_us))


def _fact(version: Version, item: Known, asker: Asker, from_us: int, until_us: int) -> temporal_pb2.HeldFact:
    memory = item.memory
    return temporal_pb2.HeldFact(
        memory_id=id_text(memory.memory_id), scope=scope_message(memory.scope), kind=memory.kind, text=memory.text,
        subject=asker.subject(item), predicate=item.predicate, value=item.value, from_us=beginning_us(from_us),
        until_us=0 if until_us >= OPEN else until_us, known_from_us=version.beliefs[0].known_from_us,
        confidence=memory.confidence, status=memory.status,
    )  # fmt: skip


def _step(step: Step, item: Known, asker: Asker) -> temporal_pb2.EvolutionStep:
    return temporal_pb2.EvolutionStep(
        what=step.what, memory_id=id_text(step.version_id), old_text=step.old, new_text=step.new,
        from_us=beginning_us(step.from_us), known_at_us=step.known_at_us, cause_event_id=step.cause,
        subject=asker.subject(item), predicate=item.predicate,
    )  # fmt: skip


def _page(facts: Sequence[temporal_pb2.HeldFact], limit: int, after: str, at_us: int, known_us: int) -> temporal_pb2.HeldFacts:
    """One page; `next` counts the facts before the following one. Asked anew for each page, so that it is never stale."""
    if after and not after.isdecimal():
        raise InvalidMessage(f"{after[:32]!r} is no page", "Give `next` of the page before.")
    start, count = int(after or 0), min(limit or _PAGE, _MOST)
    following = str(start + count) if start + count < len(facts) else ""
    answer = temporal_pb2.HeldFacts(at_us=at_us, known_as_of_us=0 if known_us >= OPEN else known_us, next=following)
    answer.facts.extend(facts[start : start + count])
    return answer

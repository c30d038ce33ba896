"""Searches: the best memories of a question, cut by nothing but their number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import context_pb2, semantic_pb2
from aico_memory.domain.context.deadlines import total_time
from aico_memory.domain.context.freshness import Applied
from aico_memory.domain.context.plan import MODEL, SEMANTIC
from aico_memory.runtime.courtesy import Courtesy
from aico_memory.runtime.ports import LinkPort
from aico_memory.settings.context import ContextSettings
from services.context import questions
from services.context.assembling import NOT_ASKED, timings
from services.context.caching import Answers
from services.context.tables import ReadingTables
from services.context.tiers import Stopwatch, TierHealth, Tiers


class Found(NamedTuple):
    """What a search found."""

    answer: context_pb2.SearchResult
    # How far long-term memory had come; None where it did not answer.
    settled: int | None
    # When the same search may next find something else though nothing was said; 0: not foreseen.
    turns_us: int = 0


def turning(records: Iterable[semantic_pb2.MemoryRecord]) -> Iterator[int]:
    """When what was found begins and ceases to hold, in Unix microseconds."""
    for record in records:
        yield from (record.valid_from_us, record.valid_until_us)


class Searching:
    """Answers searches; holds no answer longer than nothing changes in what it rests on."""

    def __init__(
        self, link: LinkPort, settings: ContextSettings, health: TierHealth, tables: ReadingTables,
        courtesy: Courtesy, answers: Answers,
    ) -> None:  # fmt: skip
        self._link = link
        self._settings = settings
        self._health = health
        self._routing = tables.routing
        self._courtesy = courtesy
        self._answers = answers

    def search(self, event: Event) -> context_pb2.SearchResult:
        """The best `top_k` memories; without the embedding model, or in a language it does not speak, by words alone."""
        watch = Stopwatch()
        ticket = self._answers.ticket(event.message) if self._settings.cache.searches else None
        kept = self._answers.kept(ticket) if ticket is not None else None
        if kept is not None:
            answer = context_pb2.SearchResult.FromString(kept.answer)
            answer.cached = True
            del answer.timings[:]
        else:
            answer, settled, turns_us = self.found(event, event.message, watch)
            if ticket is not None and settled is not None and not answer.degraded:
                turns = [turns_us, *turning(hit.record for hit in answer.hits)]
                self._answers.keep(ticket, answer, (), Applied(settled, NOT_ASKED), turns)
        answer.timings.extend(timings(watch))
        return answer

    def found(self, event: Event, request: context_pb2.SearchRequest, watch: Stopwatch, kept_ms: float = 0.0) -> Found:
        """The same for a search that another request stands for; its times go to `watch`.

        `kept_ms` of its time are left to what that request asks next.
        """
        settings = self._settings
        top_k = min(request.top_k or settings.search_default, settings.search_limit)
        # What a search does does not depend on it.
        intent = self._routing.intent(request.query) if request.explain else ""
        found = self._ask(event, request, top_k, watch, kept_ms)
        if found is None:
            return Found(context_pb2.SearchResult(degraded=[SEMANTIC], intent=intent), None)
        answer = context_pb2.SearchResult(degraded=found.degraded, model=found.model, intent=intent)
        records = {record.memory_id: record for record in found.records}
        ranked = found.lists[0] if found.lists else semantic_pb2.RankedList()
        cut, room = top_k, settings.answer_bytes
        for place, (memory_id, score) in enumerate(zip(ranked.memory_ids[:top_k], ranked.scores, strict=False)):
            room -= records[memory_id].ByteSize()
            if room < 0 and place:
                cut = place
                break
            shares = ranked.shares[place].shares if request.explain and place < len(ranked.shares) else ()
            over_us = ranked.over_us[place] if place < len(ranked.over_us) else 0
            answer.hits.add(
                record=records[memory_id],
                score=score,
                shares=shares,
                layer="L1",
                answers=place < ranked.answers,
                over_us=over_us,
            )
        if request.explain:
            # What the owner left out is told by the owner: the answer is the same whether it is explained or not.
            answer.dropped.extend(
                semantic_pb2.DroppedItem(id=memory_id, rule="answer_bytes") for memory_id in ranked.memory_ids[cut:]
            )
            answer.dropped.extend(found.dropped)
        watch.stages.update({timing.stage: timing.milliseconds for timing in found.timings})
        return Found(answer, found.settled, found.turns_us)

    def _ask(
        self, event: Event, request: context_pb2.SearchRequest, limit: int, watch: Stopwatch, kept_ms: float
    ) -> semantic_pb2.SemanticMatches | None:
        settings = self._settings
        total = self.time(event) - kept_ms
        reserve = min(settings.reserve_ms, total / 4)
        tiers = Tiers(
            self._link,
            self._health,
            watch,
            total=total,
            reserve=reserve,
            probe=settings.search_probe_ms,
            courtesy=self._courtesy,
        )
        # A model has a share of the time that its asker has; one that did not answer last time no more than a probe.
        embed_ms = tiers.time_for(SEMANTIC) * settings.embed_share
        if self._health.missed(MODEL):
            embed_ms = min(embed_ms, settings.search_probe_ms)
        scopes = questions.readable_scopes(request.user_id, request.group_id, request.project_id)
        question = questions.semantic_question("fused", scopes, limit, request)
        question.profile, question.shares = request.profile, request.explain
        if settings.parts > 1:
            question.parts.extend(self._routing.parts(request.query, settings.parts))
        question.embed_ms = max(1, int(embed_ms))
        found: semantic_pb2.SemanticMatches | None = tiers.take(tiers.ask(SEMANTIC, "semantic", question, request.user_id))
        if found is not None:
            self._note_model(found)
        return found

    def time(self, event: Event) -> float:
        """Milliseconds for a whole search, as configured or as whoever asks waits."""
        allowance = (event.deadline_us - event.occurred_us) / 1000 if event.deadline_us and event.occurred_us else 0.0
        return total_time(self._settings.search_deadline_ms, allowance)

    def _note_model(self, found: semantic_pb2.SemanticMatches) -> None:
        if MODEL in found.degraded:
            self._health.miss(MODEL)
        elif found.model:
            self._health.answered(MODEL)

"""Searches: the best memories of a question, cut by nothing but their number."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import context_pb2, model_pb2, semantic_pb2
from aico_memory.domain.context.deadlines import total_time
from aico_memory.domain.context.plan import MODEL, SEMANTIC, Plan, degraded_tiers, plan_search
from aico_memory.domain.language.detection import is_foreign
from aico_memory.domain.retrieval.fusion import Fused, Ranking, fuse
from aico_memory.errors import ModelMismatch
from aico_memory.runtime.ports import LinkPort
from aico_memory.settings.context import ContextSettings
from services.context import questions
from services.context.assembling import timings
from services.context.tables import ReadingTables
from services.context.tiers import Stopwatch, TierHealth, Tiers


@dataclass(frozen=True, slots=True)
class Found:
    """What the tiers answered, fused."""

    fused: list[Fused]
    records: dict[str, semantic_pb2.MemoryRecord]
    degraded: tuple[str, ...]
    model: str


class Searching:
    """Answers searches; holds no state but who missed."""

    def __init__(self, link: LinkPort, settings: ContextSettings, tables: ReadingTables, health: TierHealth) -> None:
        self._link = link
        self._settings = settings
        self._tables = tables
        self._health = health

    def search(self, event: Event) -> context_pb2.SearchResult:
        """The best `top_k` memories."""
        request: context_pb2.SearchRequest = event.message
        settings, watch = self._settings, Stopwatch()
        top_k = min(request.top_k or settings.search_default, settings.search_limit)
        plan = plan_search(top_k, settings.overfetch, settings.search_limit)
        found = self._ask(event, request, plan, watch)
        answer = context_pb2.SearchResult(degraded=found.degraded, model=found.model, intent=plan.intent)
        cut, room = top_k, settings.answer_bytes
        for place, one in enumerate(found.fused[:top_k]):
            room -= found.records[one.id].ByteSize()
            if room < 0 and place:
                cut = place
                break
            shares = questions.shares_of(one.shares.items()) if request.explain else ()
            hit = semantic_pb2.SearchHit(score=one.score, shares=shares, layer="L1")
            hit.record.CopyFrom(found.records[one.id])
            answer.hits.append(hit)
        if request.explain:
            rules = ["answer_bytes" if place < top_k else "top_k" for place in range(cut, len(found.fused))]
            answer.dropped.extend(
                semantic_pb2.DroppedItem(id=one.id, rule=rule) for one, rule in zip(found.fused[cut:], rules, strict=True)
            )
        answer.timings.extend(timings(watch))
        return answer

    def _ask(self, event: Event, request: context_pb2.SearchRequest, plan: Plan, watch: Stopwatch) -> Found:
        settings = self._settings
        allowance = (event.deadline_us - event.occurred_us) / 1000 if event.deadline_us and event.occurred_us else 0.0
        total = total_time(settings.deadline_ms, allowance)
        reserve = min(settings.reserve_ms, total / 4)
        tiers = Tiers(self._link, self._health, watch, total=total, reserve=reserve, probe=settings.probe_ms)
        user, query, limit = request.user_id, request.query, plan.candidates
        scopes = questions.readable_scopes(user, request.group_id, request.project_id)
        embedding = tiers.ask(MODEL, "embed", questions.embed_question(query))
        text = tiers.ask(SEMANTIC, "text", questions.semantic_question("text", query, scopes, limit, search=request), user)
        embedded: model_pb2.Embeddings | None = tiers.take(embedding, settings.embed_share)
        vector = None
        if embedded is not None:
            question = questions.semantic_question(
                "vector", query, scopes, limit, vector=embedded.vectors, fingerprint=embedded.fingerprint, search=request
            )
            vector = tiers.ask(SEMANTIC, "vector", question, user)
        by_text = tiers.take(text)
        by_vector = tiers.take(vector) if vector else None
        started = monotonic()
        foreign = embedded is not None and is_foreign(query, embedded.languages, self._tables.words)
        rankings = [
            Ranking("text", questions.ranked_ids(by_text, "text"), settings.text_weight if by_text else 0.0),
            Ranking(
                "vector",
                questions.ranked_ids(by_vector, "vector"),
                (settings.foreign_vector_weight if foreign else settings.vector_weight) if by_vector else 0.0,
            ),
        ]
        records = questions.records_by_id((by_text, by_vector))
        fused = [one for one in fuse(rankings, settings.rrf_k) if one.id in records]
        watch.note("fuse", started)
        degraded = degraded_tiers(
            plan, embedded=embedded is not None, text=by_text is not None, vectors=by_vector is not None, working=True,
            mismatch=vector is not None and vector.refused == ModelMismatch.code,
        )  # fmt: skip
        return Found(fused, records, degraded, embedded.model if embedded is not None else "")

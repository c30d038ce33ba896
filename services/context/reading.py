"""The read path: plan, ask the tiers in parallel, fuse, and make the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import context_pb2, model_pb2, semantic_pb2
from aico_memory.domain.context.deadlines import total_time
from aico_memory.domain.context.items import ContextItem, drop_repetitions
from aico_memory.domain.context.plan import MODEL, SEMANTIC, WORKING, Plan, degraded_tiers, plan_context, plan_search
from aico_memory.domain.formation.language import LanguageTable
from aico_memory.domain.language.detection import is_foreign
from aico_memory.domain.language.small_talk import small_talk
from aico_memory.domain.language.tables import PhraseTable
from aico_memory.domain.retrieval.budget import ELLIPSIS, fit
from aico_memory.domain.retrieval.fusion import Fused, Ranking, fuse
from aico_memory.errors import ModelMismatch
from aico_memory.models.token_counter import TokenCounter
from aico_memory.runtime.ports import LinkPort
from aico_memory.settings.context import ContextSettings
from services.context import questions
from services.context.tiers import Stopwatch, TierHealth, Tiers


@dataclass(frozen=True, slots=True)
class Found:
    """What the tiers answered, fused."""

    fused: list[Fused]
    records: dict[str, semantic_pb2.MemoryRecord]
    turns: dict[str, ContextItem]
    degraded: tuple[str, ...]
    model: str


class ReadPath:
    """Answers searches and context requests; holds no state but who missed."""

    def __init__(
        self,
        link: LinkPort,
        settings: ContextSettings,
        tables: Mapping[str, PhraseTable],
        words: LanguageTable,
        counter: TokenCounter,
    ) -> None:
        self._link = link
        self._settings = settings
        self._tables = tables
        self._words = words
        self._counter = counter
        self.health = TierHealth()

    def search(self, event: Event) -> context_pb2.SearchResult:
        """The best `top_k` memories, cut by nothing else."""
        request: context_pb2.SearchRequest = event.message
        settings, watch = self._settings, Stopwatch()
        top_k = min(request.top_k or settings.search_default, settings.search_limit)
        plan = plan_search(top_k, settings.overfetch, settings.search_limit)
        found = self._ask(event, request, plan, watch, request)
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
        answer.timings.extend(_timings(watch))
        return answer

    def context(self, event: Event) -> tuple[context_pb2.ContextAnswer, tuple[ContextItem, ...]]:
        """The block for a prompt and its items."""
        request: context_pb2.ContextRequest = event.message
        settings, watch = self._settings, Stopwatch()
        gate = small_talk(request.query, self._tables.values())
        watch.note("gate", watch.started)
        plan = plan_context(gate, settings.working_turns, settings.max_items, settings.overfetch)
        found = self._ask(event, request, plan, watch, None)
        started = monotonic()
        items, dropped = drop_repetitions([_item(one, found) for one in found.fused])
        max_tokens = request.max_tokens or settings.max_tokens
        fitted = fit(
            items,
            max_items=settings.max_items,
            max_tokens=max_tokens,
            count=self._counter.count,
            item_share=settings.item_share,
        )
        watch.note("budget", started)
        started = monotonic()
        answer = context_pb2.ContextAnswer(
            text=fitted.text, tokens=fitted.tokens, degraded=found.degraded, model=found.model, intent=plan.intent,
            tokenizer=self._counter.name,
            items=[_item_message(item, settings.item_characters) for item in fitted.items],
        )  # fmt: skip
        if request.explain:
            answer.dropped.extend(semantic_pb2.DroppedItem(id=id_, rule=rule) for id_, rule in (*dropped, *fitted.dropped))
        watch.note("format", started)
        answer.timings.extend(_timings(watch))
        return answer, fitted.items

    def _ask(
        self,
        event: Event,
        request: context_pb2.SearchRequest | context_pb2.ContextRequest,
        plan: Plan,
        watch: Stopwatch,
        search: context_pb2.SearchRequest | None,
    ) -> Found:
        settings = self._settings
        allowance = (event.deadline_us - event.occurred_us) / 1000 if event.deadline_us and event.occurred_us else 0.0
        total = total_time(settings.deadline_ms, allowance)
        reserve = min(settings.reserve_ms, total / 4)
        tiers = Tiers(self._link, self.health, watch, total=total, reserve=reserve, probe=settings.probe_ms)
        user, query, limit = request.user_id, request.query, plan.candidates
        scopes = questions.readable_scopes(user, request.group_id, request.project_id)
        embedding = tiers.ask(MODEL, "embed", questions.embed_question(query)) if limit else None
        text = (
            tiers.ask(SEMANTIC, "text", questions.semantic_question("text", query, scopes, limit, search=search), user)
            if limit
            else None
        )
        turns = None
        if plan.turns and isinstance(request, context_pb2.ContextRequest):
            turns = tiers.ask(WORKING, "working", questions.turns_question(user, request.session_id, plan.turns), user)
        embedded: model_pb2.Embeddings | None = tiers.take(embedding, settings.embed_share) if embedding else None
        vector = None
        if embedded is not None:
            question = questions.semantic_question(
                "vector", query, scopes, limit, vector=embedded.vectors, fingerprint=embedded.fingerprint, search=search
            )
            vector = tiers.ask(SEMANTIC, "vector", question, user)
        by_text = tiers.take(text) if text else None
        by_vector = tiers.take(vector) if vector else None
        page = tiers.take(turns) if turns else None
        started = monotonic()
        spoken = questions.turn_items(page)
        foreign = embedded is not None and is_foreign(query, embedded.languages, self._words)
        rankings = [
            Ranking("text", questions.ranked_ids(by_text, "text"), settings.text_weight if by_text else 0.0),
            Ranking(
                "vector",
                questions.ranked_ids(by_vector, "vector"),
                (settings.foreign_vector_weight if foreign else settings.vector_weight) if by_vector else 0.0,
            ),
            Ranking("working", [turn.id for turn in spoken], settings.working_weight if spoken else 0.0),
        ]
        records = questions.records_by_id((by_text, by_vector))
        by_id = {turn.id: turn for turn in spoken}
        fused = [one for one in fuse(rankings, settings.rrf_k) if one.id in records or one.id in by_id]
        watch.note("fuse", started)
        degraded = degraded_tiers(
            plan, embedded=embedded is not None, text=by_text is not None, vectors=by_vector is not None,
            working=page is not None, mismatch=vector is not None and vector.refused == ModelMismatch.code,
        )  # fmt: skip
        return Found(fused, records, by_id, degraded, embedded.model if embedded is not None else "")


def _item(one: Fused, found: Found) -> ContextItem:
    turn, record = found.turns.get(one.id), found.records.get(one.id)
    if record is not None:
        return questions.record_item(record, one, "L0" if turn is not None else "L1")
    return replace(found.turns[one.id], score=one.score, shares=one.shares)


def _item_message(item: ContextItem, longest: int) -> context_pb2.ContextItem:
    text = item.text if len(item.text) <= longest else item.text[:longest].rstrip() + ELLIPSIS
    return context_pb2.ContextItem(
        id=item.id, text=text, kind=item.kind, tier=item.tier, layer=item.layer, score=item.score,
        shares=questions.shares_of(item.shares.items()), evidence=item.evidence, tokens=item.tokens,
        said_at_us=item.said_at_us,
    )  # fmt: skip


def _timings(watch: Stopwatch) -> Sequence[semantic_pb2.StageTiming]:
    stages = {**watch.stages, "total": watch.elapsed()}
    return [semantic_pb2.StageTiming(stage=stage, milliseconds=round(spent, 3)) for stage, spent in stages.items()]

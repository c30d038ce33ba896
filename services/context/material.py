"""From the tiers' answers to items: what each is, how well it matches, and what ties it to others."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from aico_memory.contracts.v1 import behavioral_pb2, context_pb2, semantic_pb2, working_pb2
from aico_memory.domain.context.boosting import Surroundings
from aico_memory.domain.context.diversity import Likeness, WordLikeness
from aico_memory.domain.context.items import HOT, PINNED, ContextItem, changed
from aico_memory.domain.context.merging import best_scores, by_ranks, gains
from aico_memory.domain.context.plan import Plan
from aico_memory.domain.memory import OPEN, record_of
from aico_memory.settings.context import ContextSettings

# Id and kind of the line that tells of preferences: there is one at most.
STYLE = "style"
_NO_SOURCE = semantic_pb2.EvidenceSource()


@dataclass(slots=True)
class Material:
    """What may stand in a context."""

    items: list[ContextItem] = field(default_factory=list)
    around: Surroundings = field(default_factory=Surroundings)
    likeness: Likeness = field(default_factory=WordLikeness)


def material_of(
    request: context_pb2.ContextRequest,
    plan: Plan,
    settings: ContextSettings,
    found: context_pb2.Candidates | None,
    hot: Sequence[ContextItem],
    page: working_pb2.MessagePage | None,
    in_mind: Collection[str] = (),
    mood: float = 0.0,
    guidance: behavioral_pb2.SkillSelectionResponse | None = None,
    style: behavioral_pb2.StyleGuidance | None = None,
) -> Material:
    """All items, each once, with the scores of retrieval.

    `hot` is what is at hand whatever is asked, `in_mind` the ids of what the conversation has in mind, `mood` the valence of
    whoever asks.
    """
    items: dict[str, ContextItem] = {}
    if found is not None:
        records = {record.memory_id: (record, traits) for record, traits in zip(found.records, found.traits, strict=True)}
        # What did not fit into the answer is not there.
        merged = settings.merge if len(plan.questions) > 1 else "best"
        ranks = _scores(found, len(plan.questions) if merged == "rrf" else 0)
        scores = {one: rank for one, rank in ranks.items() if one in records}
        for one, (score, shares) in scores.items():
            items[one] = record_item(*records[one], score, shares)
        top = max((score for score, _ in scores.values()), default=0.0)
        for reached in found.reached:
            if reached.memory_id not in items and reached.memory_id in records:
                score = top * 0.5 ** (reached.hops + 1)
                items[reached.memory_id] = record_item(*records[reached.memory_id], score, {"reached": score})
        for fact in (one for one in found.facts if one.id in records):
            item = items.get(fact.id) or record_item(*records[fact.id], 0.0, {})
            gain = max(0.0, fact.confidence - item.score)
            items[fact.id] = changed(
                item, answers=True, score=item.score + gain, shares={**item.shares, "answers": gain},
                valid_from_us=fact.valid_from_us, valid_until_us=fact.valid_until_us,
            )  # fmt: skip
    for warm in hot:
        known = items.get(warm.id)
        items[warm.id] = warm if known is None else changed(known, hot=True, shares={**known.shares, **warm.shares})
    top = max((item.score for item in items.values() if not item.answers), default=0.0) or 1.0
    for turn in turn_items(
        readable_turns(page, request), settings.working_score * top if request.session_id else 0.0, request.query
    ):
        known = items.get(turn.id)
        if known is None:
            items[turn.id] = turn
        else:
            gain = max(0.0, turn.score - known.score)
            shares = {**known.shares, "working": gain}
            items[turn.id] = changed(known, layer="L0", score=known.score + gain, shares=shares)
    if guidance is not None and guidance.procedure_template:
        items[guidance.skill_id] = _guidance_item(guidance)
    if style is not None and style.sentences:
        items[STYLE] = _style_item(style)
    around = _around(request, plan, found, mood)
    if in_mind:
        around = replace(around, in_mind=frozenset(in_mind))
    return Material(sorted(items.values(), key=lambda item: -item.score), around, _likeness(found))


def hot_items(found: context_pb2.Candidates) -> tuple[ContextItem, ...]:
    """The hot tier, by utility."""
    records = {record.memory_id: (record, traits) for record, traits in zip(found.records, found.traits, strict=True)}
    items = (record_item(*records[one], 0.0, {}) for one in found.hot if one in records)
    return tuple(changed(item, hot=True, shares={PINNED if item.anchored else HOT: 0.0}) for item in items)


def record_item(
    record: semantic_pb2.MemoryRecord, traits: context_pb2.Traits, score: float, shares: Mapping[str, float]
) -> ContextItem:
    """A long-term memory with its rank."""
    sources, kind = list(record.sources), record.kind
    first = sources[0] if sources else _NO_SOURCE
    raw = kind == "record"
    return ContextItem(
        id=record.memory_id, text=record.text, kind=kind, tier=record.tier, layer="L1", score=score, shares=shares,
        evidence=tuple([source.event_id for source in sources]),
        said_at_us=first.said_at_us or record.valid_from_us or record.created_at_us,
        speaker=(first.name or first.role) if raw else first.name, confidence=record.confidence, importance=record.importance,
        pinned=record.pinned, status=record.status, sub_tier=record.sub_tier, session_id=record.session_id or first.session_id,
        entities=tuple(record.entities), utility=record.utility, source_confidence=traits.source_confidence,
        valence=traits.valence, valid_from_us=record.valid_from_us, valid_until_us=record.valid_until_us,
        over_us=traits.over_us,
    )  # fmt: skip


def readable_turns(
    page: working_pb2.MessagePage | None, request: context_pb2.ContextRequest | context_pb2.UnifiedRequest
) -> list[working_pb2.StoredMessage]:
    """Messages of the scopes that are asked about, said by the time that is asked about, oldest first.

    What was said in a group or project is read there alone, by its author as well; what names both was said in the group.
    """
    at_us, known_us = getattr(request, "as_of_us", 0), getattr(request, "known_as_of_us", 0)
    latest_us = min(at_us or OPEN, known_us or OPEN)
    return [
        message
        for message in (page.messages if page is not None else ())
        if (message.group_id == request.group_id if message.group_id else message.project_id in ("", request.project_id))
        if (message.said_at_us or message.received_at_us) <= latest_us
    ]


def still_said(
    page: working_pb2.MessagePage, withdrawn: Collection[bytes], edited: Mapping[bytes, str]
) -> working_pb2.MessagePage:
    """The turns as their records say them now, by the ids of these: without those that are `withdrawn`, and with the words
    of those that were `edited`. What a person wants gone or said otherwise is told from no memory.
    """
    if not withdrawn and not edited:
        return page
    left = working_pb2.MessagePage(cut=page.cut, settled=page.settled, in_mind=page.in_mind)
    for one in page.messages:
        record_id = record_of(one.event_id)
        if record_id not in withdrawn:
            left.messages.add().CopyFrom(one)
            left.messages[-1].content = edited.get(record_id, one.content)
    return left


def turn_items(messages: Sequence[working_pb2.StoredMessage], score: float, query: str) -> list[ContextItem]:
    """Turns, newest first, under the ids of the records that semantic memory makes of them: one event, one item.

    The question itself, where it has been added already, is no memory. Each turn before has half the score of the next.
    """
    asked = " ".join(query.casefold().split())
    said = [message for message in reversed(messages) if " ".join(message.content.casefold().split()) != asked]
    return [_turn_item(message, score * 0.5**place) for place, message in enumerate(said)]


def _guidance_item(guidance: behavioral_pb2.SkillSelectionResponse) -> ContextItem:
    """How to answer, as it was selected: there whatever is asked."""
    return ContextItem(
        id=guidance.skill_id, text=guidance.procedure_template, kind="procedure", tier="procedural", layer="L2",
        score=guidance.score, shares=dict(guidance.shares), hot=True,
    )  # fmt: skip


def _style_item(style: behavioral_pb2.StyleGuidance) -> ContextItem:
    """What the person's preferences say of how to answer: there whatever is asked."""
    return ContextItem(id=STYLE, text=" ".join(style.sentences), kind=STYLE, tier="procedural", layer="L2", hot=True)


def _turn_item(message: working_pb2.StoredMessage, score: float) -> ContextItem:
    return ContextItem(
        id=str(uuid.UUID(bytes=record_of(message.event_id))), text=message.content, kind="turn", tier="working",
        layer="L0", score=score, shares={"working": score}, evidence=(message.event_id,),
        said_at_us=message.said_at_us or message.received_at_us, speaker=message.name or message.role,
        session_id=message.session_id,
    )  # fmt: skip


def _scores(found: context_pb2.Candidates, parts: int = 0) -> dict[str, tuple[float, dict[str, float]]]:
    """Each candidate with the best score that any of the questions gives it; the first `parts` lists merged by their ranks."""
    best: dict[str, tuple[float, dict[str, float]]] = {}
    for ranked in found.lists:
        told = ranked.shares or (context_pb2.FeatureShares(),) * len(ranked.scores)
        for one, score, shares in zip(ranked.memory_ids, ranked.scores, told, strict=True):
            if one not in best or score > best[one][0]:
                best[one] = (score, {share.feature: share.value for share in shares.shares})
    lists = [list(zip(ranked.memory_ids, ranked.scores, strict=True)) for ranked in found.lists[:parts]]
    for one, gain in gains(best_scores(lists), by_ranks(lists)).items():
        # What the kinds of an intent found beside the questions keeps its score.
        before, features = best[one]
        best[one] = (max(0.0, before + gain), {**features, "rrf_of_parts": gain})
    return best


def _around(request: context_pb2.ContextRequest, plan: Plan, found: context_pb2.Candidates | None, mood: float) -> Surroundings:
    at_us = request.as_of_us or request.known_as_of_us or OPEN
    if found is None:
        return Surroundings(session_id=request.session_id, valence=mood, past=plan.historical, at_us=at_us)
    return Surroundings(
        entities=frozenset(entity.casefold() for entity in found.entities), session_id=request.session_id,
        past=plan.historical, at_us=at_us, valence=mood, utility=plan.figures.utility, kinds=frozenset(plan.figures.kinds),
        together={(pair.first, pair.second): pair.times for pair in found.together},
        reached={one.memory_id: one.hops for one in found.reached},
    )  # fmt: skip


def _likeness(found: context_pb2.Candidates | None) -> Likeness:
    """By the vectors that retrieval compared, else by words."""
    by_words = WordLikeness()
    if found is None or not found.similarities:
        return by_words
    places = {record.memory_id: place for place, record in enumerate(found.records)}
    # Signed bytes, row by row; not by numpy, which this process does not need for anything else.
    hundredths, count = memoryview(found.similarities).cast("b"), len(places)

    def likeness(one: ContextItem, other: ContextItem) -> float:
        left, right = places.get(one.id), places.get(other.id)
        if left is None or right is None:
            return by_words(one, other)
        return hundredths[left * count + right] / 100.0

    return likeness

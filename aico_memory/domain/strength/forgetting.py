"""Places, tiers and forgetting: what moves up, what rests, what expires. Nothing here deletes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from aico_memory.domain.kinds import DAY_US, days_between, kept_for_good, lives_until_us, policy_of, retained_until_us
from aico_memory.domain.lifecycle import expired, may_fade
from aico_memory.domain.memory import OPEN, Memory
from aico_memory.settings.memory_model import ForgettingSettings, KindsSettings

CONTRADICTED: Final = "contradicted"
PAST: Final = "past its validity"
USELESS: Final = "of no use"
DUPLICATE: Final = "a duplicate"
TOO_MANY: Final = "too many"
EPISODIC_PLACES: Final = ("personal", "observed", "vicarious")
SEMANTIC_PLACES: Final = ("schematic", "procedural", "factual")


def tier_multiplier(tier: str, figures: ForgettingSettings) -> float:
    """Factor on the decay rates: working 10, episodic 3, semantic 1, dormant 0."""
    factors = {
        "working": figures.working_multiplier, "episodic": figures.episodic_multiplier,
        "semantic": figures.semantic_multiplier, "dormant": figures.dormant_multiplier,
    }  # fmt: skip
    return factors[tier]


def captured_place(data_source: str) -> tuple[str, str]:
    """Tier and sub-tier of what is new: a user's own word, what the agent saw, or what others lived through."""
    if data_source == "user_message":
        return "episodic", "personal"
    return "episodic", "vicarious" if data_source == "federation" else "observed"


def promoted_place(kind: str, states_rule: bool, tells_how: bool) -> tuple[str, str]:
    """Tier and sub-tier after promotion. Whether the text says always/never/rule or how-to, its language decides."""
    if kind == "pattern" or states_rule:
        return "semantic", "schematic"
    return "semantic", "procedural" if kind == "procedure" or tells_how else "factual"


def awakened(memory: Memory, at_us: int) -> Memory:
    """A strong hit on a dormant item, or its being said again: back to the tier that its place belongs to.

    It counts as a reference, so that what was let rest for want of one does not fall asleep at once.
    """
    if memory.tier != "dormant":
        return memory
    tier = "semantic" if memory.sub_tier in SEMANTIC_PLACES else "episodic"
    return replace(memory, tier=tier, updated_at_us=at_us, last_referenced_us=max(memory.last_referenced_us, at_us))


def last_use_us(memory: Memory) -> int:
    """When it was last retrieved or referred to; before that, when it was made."""
    return max(memory.last_accessed_us, memory.last_referenced_us, memory.created_at_us)


def bcm_threshold(memories: Iterable[Memory]) -> float:
    """The floating threshold: mean access count of the active items (after Bienenstock, Cooper & Munro 1982)."""
    counts = [memory.access_count for memory in memories if memory.status == "active"]
    return sum(counts) / len(counts) if counts else 0.0


def due_for_promotion(memories: Sequence[Memory], now_us: int, figures: ForgettingSettings) -> dict[bytes, str]:
    """Episodic active items that move up, with the reason: accesses, utility, or enough siblings that share an entity."""
    episodic = [one for one in memories if one.tier == "episodic" and one.status == "active" and may_fade(one)]
    mentions = Counter(entity for one in episodic for entity in set(one.entities))
    found: dict[bytes, str] = {}
    for one in episodic:
        if one.access_count >= figures.promote_accesses:
            found[one.memory_id] = "accessed"
        elif one.utility >= figures.promote_utility and days_between(one.created_at_us, now_us) >= figures.promote_days:
            found[one.memory_id] = "useful"
        elif any(mentions[entity] >= figures.promote_siblings for entity in one.entities):
            found[one.memory_id] = "shared entity"
    return found


def due_for_demotion(memory: Memory, now_us: int, figures: ForgettingSettings) -> bool:
    """Semantic, long unused *and* of little use; a flashbulb never goes down."""
    return (
        memory.tier == "semantic" and memory.status == "active" and may_fade(memory) and not memory.flashbulb
        and days_between(last_use_us(memory), now_us) >= figures.demote_days and memory.utility < figures.demote_utility
    )  # fmt: skip


def confirmed_at_us(memory: Memory) -> int:
    """When it was last said or referred to, by the clock of receipt; what lies ahead is not stale before it begins."""
    return max(memory.created_at_us, memory.last_referenced_us, memory.valid_from_us)


def ended_at_us(memory: Memory, confirmed_at_us: int, kinds: KindsSettings) -> int:
    """When its validity or its time to live since the last confirmation ends, whichever is first; OPEN for never.

    Where an end was stated ("until March") that counts, and no time to live cuts it short.
    """
    if memory.temporal_type == "time_bounded" and memory.valid_until_us < OPEN:
        return memory.valid_until_us
    return min(memory.valid_until_us, lives_until_us(memory.kind, confirmed_at_us, kinds))


def faded(memory: Memory, confirmed_at_us: int, now_us: int, kinds: KindsSettings) -> Memory:
    """Phase 7: an active item past its end rests dormant where its kind is kept for good, else it is expired.

    What is past its stated validity expires whatever its kind: it is no longer true.
    """
    ended_us = ended_at_us(memory, confirmed_at_us, kinds)
    if memory.status != "active" or ended_us > now_us or not may_fade(memory):
        return memory
    if memory.valid_until_us > now_us and kept_for_good(memory.kind, kinds):
        return memory if memory.tier == "dormant" else replace(memory, tier="dormant", updated_at_us=now_us)
    return expired(memory, ended_us, now_us)


@dataclass(frozen=True, slots=True)
class Forgetting:
    """One decision of strategic forgetting: the item rests, and by which rule."""

    memory_id: bytes
    rule: str


def strategic_forgetting(
    memories: Sequence[Memory],
    contradictions: Iterable[tuple[bytes, bytes]],
    duplicates: Iterable[tuple[bytes, bytes, float]],
    now_us: int,
    kinds: KindsSettings,
    figures: ForgettingSettings,
) -> tuple[Forgetting, ...]:
    """The five rules of specification 5, phase 8, in order, over the items in use of one scope; each item once.

    `duplicates` come with their cosine. Anchors hold against every rule, the minimum
    retention against the last three: the first two speak of what is no longer true.
    What is kept for good does not rest for want of use, but may for want of room.
    """
    awake = {one.memory_id: one for one in memories if one.status == "active" and one.tier != "dormant"}
    found: dict[bytes, str] = {}

    def rest(memory: Memory, rule: str) -> None:
        if may_fade(memory):
            found.setdefault(memory.memory_id, rule)

    for left, right in contradictions:
        if left in awake and right in awake:
            rest(older(awake[left], awake[right]), CONTRADICTED)
    for one in awake.values():
        if one.valid_until_us <= now_us:
            rest(one, PAST)
    for one in awake.values():
        if is_useless(one, now_us, kinds, figures):
            rest(one, USELESS)
    # Dormant items count as well, so that letting one rest does not raise the threshold for the others.
    threshold = bcm_threshold(memories)
    spare = {key for key, one in awake.items() if may_be_spared(one, threshold, now_us, kinds, figures)}
    for left, right, cosine in duplicates:
        if cosine > figures.duplicate_cosine and left in awake and right in awake and not {left, right} & found.keys():
            weaker = less_useful(awake[left], awake[right])
            if weaker.memory_id in spare:
                rest(weaker, DUPLICATE)
    left_awake = [one for key, one in awake.items() if key not in found]
    if len(left_awake) > figures.active_limit:
        ordered = sorted((one for one in left_awake if one.memory_id in spare), key=usefulness)
        for one in ordered[: len(left_awake) - figures.active_target]:
            rest(one, TOO_MANY)
    return tuple(Forgetting(key, rule) for key, rule in found.items())


def older(left: Memory, right: Memory) -> Memory:
    """The side of a contradiction that was true first."""
    return min(left, right, key=lambda one: (one.valid_from_us, one.recorded_at_us, one.memory_id))


def is_useless(memory: Memory, now_us: int, kinds: KindsSettings, figures: ForgettingSettings) -> bool:
    """Rule 3: long unused and of little use, past its minimum retention."""
    idle_days = days_between(last_use_us(memory), now_us)
    kept = kept_for_good(memory.kind, kinds) or retained_until_us(memory.kind, memory.created_at_us, kinds) > now_us
    return not kept and memory.utility < figures.useless_utility and idle_days >= figures.useless_days


def may_be_spared(
    memory: Memory, threshold: float, now_us: int, kinds: KindsSettings, figures: ForgettingSettings
) -> bool:  # fmt: skip
    """Whether the last two rules may let it rest: used no more than the mean (BCM), past its minimum retention if it has
    one, not referred to lately, not anchored."""
    lately = memory.last_referenced_us > now_us - round(figures.spared_days * DAY_US)
    old_enough = memory.created_at_us <= spared_if_made_by(memory.kind, now_us, kinds)
    return may_fade(memory) and memory.access_count <= threshold and old_enough and not lately


def spared_if_made_by(kind: str, now_us: int, kinds: KindsSettings) -> int:
    """The latest making of an item of this kind that the last two rules may let rest."""
    days = policy_of(kind, kinds).retention_days
    return now_us if days is None else now_us - round(days * DAY_US)


def less_useful(left: Memory, right: Memory) -> Memory:
    """Which of two goes first."""
    return min(left, right, key=usefulness)


def usefulness(memory: Memory) -> tuple[float, int, bytes]:
    """Order in which items go for want of room: the least useful, then the one unused for longest."""
    return memory.utility, last_use_us(memory), memory.memory_id

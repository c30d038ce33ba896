"""Trigger matching: how well a situation fulfils the conditions that a skill states."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from aico_memory.domain.behavioral.dimensions import clamp
from aico_memory.domain.behavioral.situation import Situation
from aico_memory.domain.behavioral.skill import Skill, SkillType, Trigger

# A score that equals the threshold in exact arithmetic reaches it in floating point as well.
ROUNDING: Final = 1e-9
# The condition that holds by degrees.
TOPIC: Final = "topic"
# Cosine from which a topic is near: from here on it would make a skill apply by itself.
NEAR: Final = 0.5


@dataclass(frozen=True, slots=True)
class TriggerWeights:
    """Weight of each condition, before renormalising over those that are stated."""

    intent: float = 0.40
    time_of_day: float = 0.15
    sentiment: float = 0.15
    topic: float = 0.30


@dataclass(frozen=True, slots=True)
class TriggerMatch:
    """Score 0..1 and, for each stated condition, its part of the score."""

    skill: Skill
    score: float
    parts: tuple[tuple[str, float], ...]
    # Whether it is a skill of the person's own for just such matters: its topic is near.
    own_matter: bool = False


def match_trigger(skill: Skill, situation: Situation, weights: TriggerWeights) -> TriggerMatch:
    """Weighted share of the stated conditions that hold.

    Only what the skill states counts, above and below the line: an intent that
    is stated and missed costs its weight, and conditions that are not stated
    give nothing to make up for it. A topic counts with its cosine, never
    negatively; where no vectors were at hand the topic is left out.
    """
    trigger = skill.trigger
    held: list[tuple[str, float]] = []
    total = 0.0
    if trigger.intents:
        total += weights.intent
        held.append(("intent", weights.intent if situation.intent in trigger.intents else 0.0))
    if trigger.times_of_day:
        total += weights.time_of_day
        held.append(("time_of_day", weights.time_of_day if situation.time_of_day in trigger.times_of_day else 0.0))
    if trigger.sentiments:
        total += weights.sentiment
        held.append(("sentiment", weights.sentiment if situation.sentiment in trigger.sentiments else 0.0))
    if trigger.topics and skill.skill_id in situation.nearness:
        total += weights.topic
        held.append((TOPIC, weights.topic * clamp(situation.nearness[skill.skill_id])))
    if total <= 0.0:
        return TriggerMatch(skill, 0.0, ())
    parts = tuple([(name, value / total) for name, value in held])
    score = 0.0
    for _, part in parts:
        score += part
    own_matter = skill.type is SkillType.USER_CREATED and situation.nearness.get(skill.skill_id, 0.0) >= NEAR
    return TriggerMatch(skill, clamp(score), parts, own_matter)


def rank_triggers(
    skills: Iterable[Skill], situation: Situation, weights: TriggerWeights, threshold: float, limit: int
) -> list[TriggerMatch]:
    """The best `limit` skills that reach the threshold, best first; equal scores by name, then id.

    Behind them come skills of the person's own for just such matters, see `seated`.
    """
    could = (skill for skill in skills if could_reach(skill.trigger, situation, weights, threshold))
    matches = (match_trigger(skill, situation, weights) for skill in could)
    applying = [match for match in matches if match.score >= threshold - ROUNDING]
    applying.sort(key=lambda match: (-match.score, match.skill.name, match.skill.skill_id))
    return seated(applying, limit)


def seated(ordered: Sequence[TriggerMatch], limit: int) -> list[TriggerMatch]:
    """Those that go on to the choice: the first `limit`, and of the rest the first `limit` own ones whose topic is near.

    A cosine is never full, so a skill that states a topic fits less than the many that state an intent alone: without a
    seat of its own it would never be tried.
    """
    return [*ordered[:limit], *[match for match in ordered[limit:] if match.own_matter][:limit]]


def could_reach(trigger: Trigger, situation: Situation, weights: TriggerWeights, threshold: float) -> bool:
    """A cheap bound that spares most skills the whole sum: all but a missed intent taken as fulfilled."""
    if not trigger.intents or situation.intent in trigger.intents:
        return True
    rest = (
        (weights.time_of_day if trigger.times_of_day else 0.0)
        + (weights.sentiment if trigger.sentiments else 0.0)
        + (weights.topic if trigger.topics else 0.0)
    )
    return rest >= (threshold - 2 * ROUNDING) * (rest + weights.intent)


def topic_could_decide(skill: Skill, intent: str, weights: TriggerWeights, threshold: float) -> bool:
    """Whether this skill could apply with this intent if its topic were met: if not, no embedding is needed for it."""
    trigger = skill.trigger
    if not trigger.topics:
        return False
    best = Situation(intent, min(trigger.sentiments, default=""), min(trigger.times_of_day, default=""), {skill.skill_id: 1.0})
    return match_trigger(skill, best, weights).score >= threshold - ROUNDING

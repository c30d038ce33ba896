"""When the skills at hand keep missing a person's taste: a skill with the preferred style is proposed."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from aico_memory.domain.behavioral.dimensions import DIMENSIONS, NEUTRAL, NEUTRAL_VALUE, Vector
from aico_memory.domain.behavioral.evidence import named_by
from aico_memory.domain.behavioral.learning import Preference
from aico_memory.domain.behavioral.records import FeedbackRecord
from aico_memory.domain.behavioral.skill import Skill


@dataclass(frozen=True, slots=True)
class ProposalFigures:
    """From when on the skills at hand count as missing a taste."""

    # Thumbs in the context, and the share of them that pointed down.
    thumbs: int = 20
    down_share: float = 0.6
    # Distance of the preference from neutral, and from the nearest skill at hand.
    moved: float = 0.3
    distance: float = 0.8
    # A dimension this far from neutral gets its sentence; so many do at most.
    pronounced: float = 0.06
    sentences: int = 5


@dataclass(frozen=True, slots=True)
class Proposal:
    """A skill that might fit better, with what speaks for it."""

    bucket: int
    intent: str
    dimensions: Vector
    template: str
    evidence: str


# By dimension: the sentence for little and for much of it.
Fragments = Mapping[str, tuple[str, str]]


def proposals_of(
    preferences: Mapping[int, Preference], feedback: Iterable[FeedbackRecord], skills: Sequence[Skill],
    fragments: Fragments, figures: ProposalFigures,
) -> list[Proposal]:  # fmt: skip
    """One proposal at most for each bucket in which everything at hand keeps missing; by bucket."""
    intents: dict[int, Counter[str]] = defaultdict(Counter)
    down: Counter[int] = Counter()
    total: Counter[int] = Counter()
    said: dict[int, Counter[str]] = defaultdict(Counter)
    for record in feedback:
        if record.undone_us is None and record.skill_updated and record.intent:
            intents[record.bucket][record.intent] += 1
            total[record.bucket] += 1
            down[record.bucket] += record.reward < 0
            if record.reward < 0:
                said[record.bucket].update(named_by(record.reason))
    found = []
    for bucket, preference in sorted(preferences.items()):
        if total[bucket] < figures.thumbs or down[bucket] < figures.down_share * total[bucket]:
            continue
        intent = min(intents[bucket], key=lambda name: (-intents[bucket][name], name))
        at_hand = [skill for skill in skills if intent in skill.trigger.intents]
        distances = [(math.dist(preference.dimensions, skill.dimensions), skill.name) for skill in at_hand]
        nearest = min(distances, default=(math.inf, "none"))
        template = template_of(preference.dimensions, fragments, figures, said[bucket])
        if nearest[0] < figures.distance or math.dist(preference.dimensions, NEUTRAL) < figures.moved or not template:
            continue
        evidence = (
            f"{down[bucket]} of {total[bucket]} thumbs pointed down with intent {intent}; the nearest skill, {nearest[1]}, is "
            f"{nearest[0]:.2f} away from the preferred style"
        )
        found.append(Proposal(bucket, intent, preference.dimensions, template, evidence))
    return found


def template_of(
    dimensions: Vector, fragments: Fragments, figures: ProposalFigures, said: Mapping[str, int] | None = None
) -> str:
    """The sentences of the most pronounced dimensions; empty where none is.

    First come those that the person named by reasons (`said`: how often), then the most pronounced: a preference that
    every thumb down pushed to its ends says least where nobody gave a reason.
    """
    named = said or {}
    leaning = sorted(
        ((value - NEUTRAL_VALUE, name) for name, value in zip(DIMENSIONS, dimensions, strict=True) if name in fragments),
        key=lambda one: (-named.get(one[1], 0), -abs(one[0]), one[1]),
    )
    told = [fragments[name][lean > 0] for lean, name in leaning if abs(lean) >= figures.pronounced]
    return " ".join(told[: figures.sentences])

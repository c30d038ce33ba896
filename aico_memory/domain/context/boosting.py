"""What stands around a match: additions and factors on its score, each with its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from aico_memory.domain.context.items import RAW_KINDS, ContextItem, changed
from aico_memory.domain.formation.entities import slug
from aico_memory.domain.memory import OPEN
from aico_memory.settings.context import BoostSettings

# The share of what is of a kind that the intent asks for.
KIND = "kind"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What of the question and its moment an item may match."""

    # Entities and names that the question mentions.
    entities: frozenset[str] = frozenset()
    session_id: str = ""
    # Feeling of the question, −1..1; 0 where nothing is known of it.
    valence: float = 0.0
    # How much the intent asks for what proved useful.
    utility: float = 0.0
    # Ids -> how often each two were used together.
    together: Mapping[tuple[str, str], int] = ()  # type: ignore[assignment]
    # Ids that the conversation has in mind (the Miller buffer).
    in_mind: frozenset[str] = frozenset()
    # Kinds that the intent asks for beside everything else.
    kinds: frozenset[str] = frozenset()
    # What was is asked for as well as what is.
    past: bool = False
    # The moment that is asked of, in Unix microseconds; what ends after it held then.
    at_us: int = OPEN
    # Id -> hops from what matches (0: it mentions what is asked about).
    reached: Mapping[str, int] = ()  # type: ignore[assignment]


def boosted(items: Sequence[ContextItem], around: Surroundings, figures: BoostSettings) -> list[ContextItem]:
    """The items with their scores moved, within 0..1, best first; each share tells by how much.

    What is added is a share of the best match: a score is a chance of being right, and where the best one has
    one in ten, a whole tenth for the same conversation would be worth as much as the match itself. What behavior
    selected is no match: its score is on another scale, moves nothing else and is moved by nothing.
    """
    matches = [item for item in items if not item.guiding]
    leading = [item.id for item in sorted(matches, key=lambda one: -one.score)[: figures.leading]]
    partners = _partners(dict(around.together), leading)
    near = dict(around.reached)
    best = max((item.score for item in matches if not item.answers), default=0.0) or 1.0
    around = replace(around, entities=_spoken_of(around.entities, matches))
    asked_for = _best_of_kinds(matches, around.kinds, figures.most_of_kinds)
    found = [item if item.guiding else _boosted(item, best, around, figures, partners, near, asked_for) for item in items]
    return sorted(found, key=lambda item: -item.score)


def _spoken_of(entities: frozenset[str], items: Sequence[ContextItem]) -> frozenset[str]:
    """The question's entities but those who speak in what was found.

    Who takes part says the other's name and not their own: what names them is rather said to them than by them.
    """
    if not entities:
        return entities
    names = {item.speaker for item in items if item.speaker}
    speakers = {slug(part) for name in names for part in (name, *name.split())}
    return frozenset(one for one in entities if one.rpartition("/")[2] not in speakers)


def _boosted(
    item: ContextItem,
    best: float,
    around: Surroundings,
    figures: BoostSettings,
    partners: Mapping[str, int],
    near: Mapping[str, int],
    asked_for: frozenset[str],
) -> ContextItem:
    additions: dict[str, float] = {}
    if item.entities and around.entities:
        shared = len(around.entities.intersection(entity.casefold() for entity in item.entities))
        if shared:
            additions["entity"] = figures.entity * min(shared, figures.most_entities)
    if around.session_id and item.session_id == around.session_id:
        additions["same_episode"] = figures.same_episode
    if item.id in asked_for and figures.kind:
        additions[KIND] = figures.kind
    if item.id in around.in_mind:
        additions["attention"] = figures.attention
    if partners.get(item.id):
        additions["co_activation"] = figures.co_activation
    if item.id in near:
        additions["graph"] = figures.graph / (1 + near[item.id])
    if around.utility and not item.raw:
        additions["utility"] = around.utility * (item.utility - 0.5)
    total = item.score
    if additions:
        additions = {name: share * best for name, share in additions.items()}
        total += sum(additions.values())
    for name, factor in _factors(item, around, figures):
        additions[name] = total * (factor - 1.0)
        total *= factor
    if not additions:
        return item
    return changed(item, score=min(1.0, max(0.0, total)), shares={**item.shares, **additions})


def _factors(item: ContextItem, around: Surroundings, figures: BoostSettings) -> Iterable[tuple[str, float]]:
    if item.kind not in RAW_KINDS and (factor := figures.sub_tiers.get(item.sub_tier, 1.0)) != 1.0:
        yield "sub_tier", factor
    if around.valence * item.valence > 0 and min(abs(around.valence), abs(item.valence)) >= figures.least_feeling:
        yield "mood", figures.mood
    if item.source_confidence < figures.least_source_confidence:
        yield "source", figures.weak_source
    if 0 < item.over_us <= around.at_us and not around.past and not item.answers:
        yield "over", figures.over
    if item.tier == "dormant":
        yield "dormant", figures.dormant


def _best_of_kinds(items: Sequence[ContextItem], kinds: frozenset[str], most: int) -> frozenset[str]:
    """Who asks what to avoid asks for what was said of it, in whatever words ("I'm allergic to walnuts")."""
    named = sorted((item for item in items if item.kind in kinds), key=lambda one: -one.score)
    return frozenset(item.id for item in named[:most])


def _partners(together: Mapping[tuple[str, str], int], leading: Sequence[str]) -> dict[str, int]:
    """How often each item was used together with one of the leading others."""
    first = set(leading)
    found: dict[str, int] = {}
    for (one, other), count in together.items():
        for here, there in ((one, other), (other, one)):
            if there in first and here != there:
                found[here] = max(found.get(here, 0), count)
    return found

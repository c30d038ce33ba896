"""What a person's learned and stated preferences say of how to answer, in a few sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from aico_memory.domain.behavioral.dimensions import NEUTRAL_VALUE
from aico_memory.domain.behavioral.proposals import Fragments


@dataclass(frozen=True, slots=True)
class GuidanceFigures:
    """From when on a preference is sure enough to be told."""

    # Distance of a stated value from neutral (0.5).
    pronounced: float = 0.2
    # Standard deviations by which a learned slope differs from 0.
    deviations: float = 2.0
    # Thumbs of the person without which nothing is told as learned.
    thumbs: float = 5.0
    sentences: int = 3


class Liking(NamedTuple):
    """The liking of one style dimension by itself."""

    slope: float
    deviation: float
    # What others are expected to like.
    prior: float


def guidance_of(
    stated: Mapping[str, float], learned: Mapping[str, Liking], thumbs: float, fragments: Fragments, figures: GuidanceFigures
) -> list[str]:
    """The sentences of the dimensions that are told, those stated first, then by how sure they are.

    What is only the prior's, which holds of people in general, is no preference of this person.
    """
    said = {name: value - NEUTRAL_VALUE for name, value in stated.items() if abs(value - NEUTRAL_VALUE) >= figures.pronounced}
    sure = dict(_sure(learned, figures)) if thumbs >= figures.thumbs else {}
    leans = [*_strongest_first(said), *_strongest_first({name: lean for name, lean in sure.items() if name not in said})]
    told = [fragments[name][lean > 0] for name, lean in leans if name in fragments]
    return told[: figures.sentences]


def _sure(learned: Mapping[str, Liking], figures: GuidanceFigures) -> Iterable[tuple[str, float]]:
    for name, one in learned.items():
        own = one.slope - one.prior
        if own * one.slope > 0 and abs(one.slope) >= figures.deviations * one.deviation:
            yield name, one.slope / max(one.deviation, 1e-9)


def _strongest_first(leans: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(leans.items(), key=lambda one: (-abs(one[1]), one[0]))

"""The common prior: from what the base skills are made for, and from the sums of many people's thumbs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from aico_memory.domain.behavioral.dimensions import DIMENSIONS
from aico_memory.domain.behavioral.evidence import Evidence
from aico_memory.domain.behavioral.posterior import TastePosterior
from aico_memory.domain.behavioral.prior import TYPICAL_LENGTH, Floats, Prior, Spread, style_of
from aico_memory.domain.behavioral.skill import Catalogue
from aico_memory.domain.behavioral.style_space import StyleSpace


@dataclass(frozen=True, slots=True)
class RefitFigures:
    """How a prior is learned from people."""

    # Fewer people than this teach nothing common, and a sum over fewer is left out (k-anonymity).
    k: int = 5
    # Variances of the common taste around the prior before it, in its own units.
    level: float = 0.01
    taste: float = 0.02
    taste_by_intent: float = 0.006
    skill: float = 0.002
    skill_by_intent: float = 0.002
    # Factors on a variance of the spread that are tried in turn.
    factors: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0, 4.0)
    # The spread is fitted on so many of the people, evenly chosen, and on so many cells of each.
    spread_people: int = 40
    cells: int = 60


@dataclass(frozen=True, slots=True)
class Total:
    """Sums over people of the thumbs on one skill with one intent."""

    intent: str
    skill_id: str
    positive: float
    negative: float
    users: int


def designed(prior: Prior, catalogue: Catalogue, strength: float) -> Prior:
    """The prior with a taste for each intent towards the styles that the base skills with this intent were given.

    A skill made for few intents says more about each (weight 1 / number of its intents). `strength` is what a style
    a typical length ahead in that direction adds to the chance of a thumb up.
    """
    weighted: dict[str, Floats] = defaultdict(lambda: np.zeros(len(DIMENSIONS)))
    weights: dict[str, float] = defaultdict(float)
    for skill in catalogue:
        for intent in sorted(skill.trigger.intents):
            weight = 1.0 / len(skill.trigger.intents)
            weighted[intent] = weighted[intent] + weight * style_of(skill.dimensions)
            weights[intent] += weight
    if not weights:
        return prior
    everywhere = np.mean([style_of(skill.dimensions) for skill in catalogue], axis=0)
    tastes: dict[str, tuple[float, ...]] = {}
    for intent, total in weighted.items():
        ahead = total / weights[intent] - everywhere
        length = float(np.linalg.norm(ahead))
        if length > 0.0:
            tastes[intent] = tuple(float(part) for part in strength * ahead / (length * np.sqrt(TYPICAL_LENGTH)))
    return replace(prior, taste_by_intent=tastes)


def totals_of(people: Iterable[Evidence], k: int) -> list[Total]:
    """Sums by (intent, skill), sorted; those of fewer than k people are left out."""
    sums: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for evidence in people:
        seen = set()
        for cell in evidence.cells:
            entry = sums[cell.intent, cell.skill_id]
            entry[0] += cell.positive
            entry[1] += cell.negative
            seen.add((cell.intent, cell.skill_id))
        for key in seen:
            sums[key][2] += 1
    return [
        Total(intent, skill, up, down, int(users))
        for (intent, skill), (up, down, users) in sorted(sums.items())
        if users >= k and up + down > 0
    ]


def refitted(base: Prior, people: Sequence[Evidence], space: StyleSpace, figures: RefitFigures, version: str) -> Prior | None:
    """The prior after many people's thumbs: common means from the sums, then the spread around them.

    None where fewer than k people or no sum of k people stands. Empirical Bayes: the means are the posterior of the
    mixed model given the sums; the spread's variances maximise the summed log marginal likelihood of the people.
    """
    taught = [evidence for evidence in people if any(cell.total > 0 for cell in evidence.cells)]
    totals = [total for total in totals_of(taught, figures.k) if total.skill_id in space]
    if len(taught) < figures.k or not totals:
        return None
    meant = replace(_with_means(base, totals, space, figures), version=version, users=len(taught))
    every = max(1, len(taught) // figures.spread_people)
    recent = [replace(one, cells=one.cells[: figures.cells]) for one in taught[::every][: figures.spread_people]]
    return replace(meant, spread=_fitted_spread(meant, recent, space, figures))


def _with_means(base: Prior, totals: Sequence[Total], space: StyleSpace, figures: RefitFigures) -> Prior:
    places = [space.place[total.skill_id] for total in totals]
    styles = space.styles[places]
    same_intent = np.array([[one.intent == other.intent for other in totals] for one in totals])
    same_skill = np.array([[one.skill_id == other.skill_id for other in totals] for one in totals])
    linear = styles @ styles.T / TYPICAL_LENGTH
    covariance = (
        figures.level
        + linear * (figures.taste + figures.taste_by_intent * same_intent)
        + same_skill * (figures.skill + figures.skill_by_intent * same_intent)
    )
    counts = np.array([total.positive + total.negative for total in totals])
    rates = np.array([total.positive for total in totals]) / counts
    expected = np.array(
        [base.mean(total.intent, [total.skill_id], styles[row : row + 1], np.ones(1))[0] for row, total in enumerate(totals)]
    )
    spread = base.spread
    between = spread.level + spread.taste + spread.taste_by_intent + spread.skill + spread.skill_by_intent
    errors = spread.noise / counts + between / np.array([total.users for total in totals])
    weights = np.linalg.solve(covariance + np.diag(errors), rates - expected)
    taste = np.asarray(base.taste) + figures.taste / TYPICAL_LENGTH * weights @ styles
    by_intent = {intent: np.asarray(vector, dtype=np.float64) for intent, vector in base.taste_by_intent.items()}
    skill: dict[str, float] = defaultdict(float, base.skill)
    special: dict[str, dict[str, float]] = defaultdict(dict)
    for intent, known in base.skill_by_intent.items():
        special[intent] = dict(known)
    for total, weight, style in zip(totals, weights, styles, strict=True):
        step = figures.taste_by_intent / TYPICAL_LENGTH * weight * style
        by_intent[total.intent] = by_intent.get(total.intent, np.zeros(len(DIMENSIONS))) + step
        skill[total.skill_id] += figures.skill * float(weight)
        of_intent = special[total.intent]
        of_intent[total.skill_id] = of_intent.get(total.skill_id, 0.0) + figures.skill_by_intent * float(weight)
    return replace(
        base,
        level=base.level + figures.level * float(weights.sum()),
        taste=_plain(taste),
        taste_by_intent={intent: _plain(vector) for intent, vector in sorted(by_intent.items())},
        skill=dict(sorted(skill.items())),
        skill_by_intent={intent: dict(sorted(known.items())) for intent, known in sorted(special.items())},
    )


def _fitted_spread(prior: Prior, people: Sequence[Evidence], space: StyleSpace, figures: RefitFigures) -> Spread:
    """One pass over the variances that matter most, each by the best factor with the others as they stand."""
    spread = prior.spread
    for name in ("taste", "level", "taste_by_intent", "skill"):
        tried: Mapping[float, Spread] = {
            factor: replace(spread, **{name: getattr(spread, name) * factor}) for factor in figures.factors
        }
        scores = {factor: _log_likelihood(replace(prior, spread=one), people, space) for factor, one in tried.items()}
        # Equal scores: the factor nearest to no change.
        best = max(scores, key=lambda factor: (scores[factor], -abs(np.log(factor))))
        spread = tried[best]
    return spread


def _log_likelihood(prior: Prior, people: Sequence[Evidence], space: StyleSpace) -> float:
    own = StyleSpace.like(space, prior)
    return sum(TastePosterior(evidence, own).log_likelihood() for evidence in people)


def _plain(vector: Floats) -> tuple[float, ...]:
    return tuple(float(part) for part in vector)

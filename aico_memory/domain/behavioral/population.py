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

# A thumb is never told without any error.
LEAST_NOISE = 0.05


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
    # Factors on a variance of the spread that are tried in turn, and how often.
    factors: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0, 4.0)
    passes: int = 2
    # The means are fitted on so many of the people, evenly chosen.
    mean_people: int = 1_000
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

    None where fewer than k people or no sum of k people stands. Empirical Bayes for a mixed model: the means are the
    posterior of the common effects by generalised least squares over the people (Laird & Ware, 1982), so that whoever was
    given more of what they like does not make it look liked by all; the spread's variances maximise the summed log
    marginal likelihood of the people.
    """
    taught = [evidence for evidence in people if any(cell.total > 0 for cell in evidence.cells)]
    totals = [total for total in totals_of(taught, figures.k) if total.skill_id in space]
    if len(taught) < figures.k or not totals:
        return None
    some = _evenly(taught, figures.mean_people)
    recent = [replace(one, cells=one.cells[: figures.cells]) for one in _evenly(taught, figures.spread_people)]
    # Either depends on the other: how far people stray says what their thumbs tell of what is common.
    first = _with_means(base, some, totals, space, figures)
    spread = _fitted_spread(first, recent, space, figures)
    meant = _with_means(replace(base, spread=spread), some, totals, space, figures)
    return replace(meant, version=version, users=len(taught))


def _evenly(people: Sequence[Evidence], most: int) -> Sequence[Evidence]:
    return people[:: max(1, len(people) // most)][:most]


def _summed(base: Prior, people: Sequence[Evidence], totals: Sequence[Total], space: StyleSpace) -> tuple[Floats, Floats]:
    """Sums over people of what their thumbs tell of the liking by intent and skill: precision and weighted residuals."""
    group = {(total.intent, total.skill_id): row for row, total in enumerate(totals)}
    own = StyleSpace.like(space, base)
    precision, residuals = np.zeros((len(totals), len(totals))), np.zeros(len(totals))
    for evidence in people:
        cells = tuple(cell for cell in evidence.cells if cell.total > 0 and (cell.intent, cell.skill_id) in group)
        if not cells:
            continue
        groups = np.array([group[cell.intent, cell.skill_id] for cell in cells], dtype=np.int64)
        here, rows = np.unique(groups, return_inverse=True)
        of_one = TastePosterior(Evidence(cells), own).pooled(rows, len(here))
        precision[np.ix_(here, here)] += of_one[0]
        residuals[here] += of_one[1]
    return precision, residuals


def _with_means(
    base: Prior, people: Sequence[Evidence], totals: Sequence[Total], space: StyleSpace, figures: RefitFigures
) -> Prior:
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
    precision, residuals = _summed(base, people, totals, space)
    weights = np.linalg.solve(np.eye(len(totals)) + precision @ covariance, residuals)
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
    """Passes over the variances that matter most, each by the best factor with the others as they stand.

    The variance of a single thumb is p(1 - p), whoever gives it; only how thumbs go together tells of people's spread. So
    the noise is what the spread leaves of that: were it more, the spread would have to make up for it by being too small.
    """
    thumbs = sum(cell.total for evidence in people for cell in evidence.cells)
    liked = sum(cell.positive for evidence in people for cell in evidence.cells) / max(thumbs, 1.0)
    spread = _with_noise(prior.spread, liked)
    for name in ("taste", "level", "taste_by_intent", "skill") * figures.passes:
        tried: Mapping[float, Spread] = {
            factor: _with_noise(replace(spread, **{name: getattr(spread, name) * factor}), liked) for factor in figures.factors
        }
        scores = {factor: _log_likelihood(replace(prior, spread=one), people, space) for factor, one in tried.items()}
        # Equal scores: the factor nearest to no change.
        best = max(scores, key=lambda factor: (scores[factor], -abs(np.log(factor))))
        spread = tried[best]
    return spread


def _with_noise(spread: Spread, liked: float) -> Spread:
    """The spread with the noise that goes with it where this share of thumbs (0..1) is up."""
    alone = liked * (1.0 - liked)
    between = spread.level + spread.taste + spread.taste_by_intent + spread.taste_by_sentiment
    between += spread.skill + spread.skill_by_intent + spread.skill_by_bucket
    return replace(spread, noise=max(alone - between, LEAST_NOISE))


def _log_likelihood(prior: Prior, people: Sequence[Evidence], space: StyleSpace) -> float:
    own = StyleSpace.like(space, prior)
    return sum(TastePosterior(evidence, own).log_likelihood() for evidence in people)


def _plain(vector: Floats) -> tuple[float, ...]:
    return tuple(float(part) for part in vector)

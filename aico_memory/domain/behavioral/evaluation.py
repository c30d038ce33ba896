"""Trying out a prior on what has been logged, before anybody is served by it.

The doubly robust estimate (Dudik, Langford & Li, 2011) of the mean reward of taking the best expectation under a
prior: the model's value of what it would take, corrected by the logged thumb, weighted by the chance of the logged
choice, where both agree. Each thumb is judged by what the person's earlier thumbs had taught, never by itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from aico_memory.domain.behavioral.choosing import Chooser
from aico_memory.domain.behavioral.evidence import Cell, Evidence, bounded, with_thumb
from aico_memory.domain.behavioral.posterior import TastePosterior, taste_of
from aico_memory.domain.behavioral.prior import Prior
from aico_memory.domain.behavioral.situation import Situation
from aico_memory.domain.behavioral.skill import Catalogue
from aico_memory.domain.behavioral.style_space import StyleSpace
from aico_memory.domain.behavioral.trigger import rank_triggers

# A chance smaller than this weighs no more than this (clipped importance weights), and no expectation is surer.
LEAST_PROPENSITY = 0.05
SURE = 0.02


@dataclass(frozen=True, slots=True)
class Judged:
    """One logged thumb with its situation; `propensity` 0 where the chance of the choice is not known."""

    intent: str
    sentiment: str
    time_of_day: str
    skill_id: str
    liked: bool
    propensity: float


@dataclass(frozen=True, slots=True)
class Person:
    """One person's logged thumbs, oldest first."""

    judged: tuple[Judged, ...]


@dataclass(frozen=True, slots=True)
class EvaluationFigures:
    """How much is tried out."""

    latest: int = 12
    cells: int = 200


@dataclass(frozen=True, slots=True)
class Estimate:
    """Mean reward (0..1) and log loss of predicted thumbs, over so many thumbs."""

    value: float
    log_loss: float
    thumbs: int
    # What would have been taken, a thumb each in their order, and the share of it that the person had only ever refused there.
    chosen: tuple[str, ...] = ()
    violations: float = 0.0
    # The situations of those, in the same order.
    situations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Verdict:
    value: float
    loss: float
    chosen: str
    situation: str


def evaluate(
    prior: Prior, people: Sequence[Person], catalogue: Catalogue, chooser: Chooser, figures: EvaluationFigures
) -> Estimate:
    """The doubly robust value of a prior and its log loss; 0 thumbs where nothing could be judged."""
    space = StyleSpace({skill.skill_id: skill.dimensions for skill in catalogue}, prior)
    verdicts: list[_Verdict] = []
    refused = 0
    for person in people:
        cells: dict[tuple[str, str, str, str], Cell] = {}
        first = max(0, len(person.judged) - figures.latest)
        for place, one in enumerate(person.judged):
            if place >= first:
                evidence = Evidence(bounded(list(cells.values()), figures.cells))
                judged = _judge(one, taste_of(evidence, space), catalogue, chooser)
                if judged is not None:
                    verdicts.append(judged)
                    there = cells.get((one.intent, one.sentiment, one.time_of_day, judged.chosen))
                    refused += there is not None and there.negative > 0 and there.positive <= 0
            cell = Cell(one.intent, one.sentiment, one.time_of_day, one.skill_id)
            cells[cell.key] = with_thumb(cells.get(cell.key, cell), 1 if one.liked else -1)
    if not verdicts:
        return Estimate(0.0, 0.0, 0)
    count = len(verdicts)
    value, loss = sum(one.value for one in verdicts), sum(one.loss for one in verdicts)
    return Estimate(value / count, loss / count, count, tuple(one.chosen for one in verdicts), refused / count,
                    tuple(one.situation for one in verdicts))  # fmt: skip


def _judge(one: Judged, posterior: TastePosterior, catalogue: Catalogue, chooser: Chooser) -> _Verdict | None:
    situation = Situation(one.intent, one.sentiment, one.time_of_day)
    matches = rank_triggers(catalogue, situation, chooser.weights, chooser.threshold, len(catalogue))
    ids = [match.skill.skill_id for match in matches]
    if one.skill_id not in ids:
        return None
    expected = [
        min(1.0 - SURE, max(SURE, float(mean)))
        for mean in posterior.beliefs(situation, ids, [match.score for match in matches]).mean
    ]
    logged, best = ids.index(one.skill_id), max(range(len(ids)), key=lambda place: (expected[place], -place))
    reward = float(one.liked)
    value = expected[best]
    if best == logged and one.propensity > 0:
        value += (reward - expected[logged]) / max(one.propensity, LEAST_PROPENSITY)
    loss = -math.log(expected[logged] if one.liked else 1.0 - expected[logged])
    return _Verdict(value, loss, ids[best], f"{one.intent}, {one.sentiment}, {one.time_of_day}")

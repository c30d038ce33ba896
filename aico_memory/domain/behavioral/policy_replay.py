"""What a policy would have been worth on what was logged, before anybody is served by it.

Every logged decision is put before a policy again, with what the person's thumbs had taught by then, and its thumb is
weighed by the chance with which that policy takes the logged skill over the chance with which it was taken. The
self-normalised inverse propensity estimate (Swaminathan & Joachims, 2015) of the chance of a thumb up follows. What the
policy would have learned from choices of its own is not told by a log: each decision is judged where the log stood.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from aico_memory.domain.behavioral.choosing import Chooser
from aico_memory.domain.behavioral.evaluation import LEAST_PROPENSITY
from aico_memory.domain.behavioral.evidence import Cell, Evidence, Wish, bounded, cell_of, weight_of, wished, with_thumb
from aico_memory.domain.behavioral.learning import (
    Knowledge,
    LearningFigures,
    Posterior,
    Preference,
    SkillState,
    learn,
    note_selected,
)
from aico_memory.domain.behavioral.policy import Policy, UserKnowledge, seed_of
from aico_memory.domain.behavioral.posterior import TastePosterior, taste_of
from aico_memory.domain.behavioral.prior import Floats, Prior
from aico_memory.domain.behavioral.situation import Situation
from aico_memory.domain.behavioral.skill import Skill
from aico_memory.domain.behavioral.style_space import StyleSpace
from aico_memory.domain.behavioral.trigger import ROUNDING, match_trigger

TOO_FEW: Final = "too_few_decisions"
NO_SUPPORT: Final = "too_little_support"
BETTER, WORSE, EQUAL = "better", "worse", "no_difference"
# Of a normal distribution: 95 % lie within so many standard deviations.
NORMAL_95: Final = 1.959964
# People from which an interval is that of people; below, decisions count as independent of each other.
LEAST_PEOPLE: Final = 10
# The mean weight is 1 where the log could have taken all that a policy takes.
LEAST_SUPPORT: Final = 0.5


@dataclass(frozen=True, slots=True)
class Logged:
    """One selection; `liked` is its thumb (None: none, or a neutral one), `propensity` the chance it was taken with."""

    situation: Situation
    skill_id: str
    propensity: float
    liked: bool | None
    is_exploration: bool = False
    at_us: int = 0


@dataclass(frozen=True, slots=True)
class Thumb:
    """One thumb up or down as it is learned from."""

    situation: Situation
    skill_id: str
    reward: int
    reason: str = ""
    is_exploration: bool = False


@dataclass(frozen=True, slots=True)
class Course:
    """One person's selections and thumbs in the order in which they came, and the skills at hand."""

    skills: Sequence[Skill]
    steps: Sequence[Logged | Thumb]


@dataclass(frozen=True, slots=True)
class Ruling:
    """Everything that decides: the policy, the path to it, and what thumbs teach it from which prior."""

    policy: Policy
    chooser: Chooser
    learning: LearningFigures
    prior: Prior
    cells: int
    content_weight: float


@dataclass(frozen=True, slots=True)
class ReplayFigures:
    """How much is replayed, and from when on that says something."""

    # Latest judged decisions of a person.
    latest: int = 50
    # Draws by which the chance of a choice is counted.
    draws: int = 32
    least_decisions: int = 100
    # Of as many equally weighted decisions (Kish).
    least_effective: float = 30.0


@dataclass(frozen=True, slots=True)
class Value:
    """The chance (0..1) of a thumb up, its 95 % interval, and what it rests on."""

    value: float = 0.0
    low: float = 0.0
    high: float = 0.0
    # Of as many equally weighted decisions it says as much.
    effective: float = 0.0
    # Mean weight: 1 where the log took everything that the policy takes, near 0 where it took nothing of that.
    support: float = 0.0


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two rulings on the same decisions."""

    # better | worse | no_difference | too_few_decisions | too_little_support
    outcome: str
    decisions: int
    people: int
    # Share of thumbs up among them, as they were.
    observed: float
    in_use: Value
    candidate: Value
    # Of the values, candidate less the one in use, with its 95 % interval.
    difference: float
    low: float
    high: float
    # Selections that say nothing, by why.
    left_out: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Weighed:
    """One usable decision: whose, its thumb, and the weights of both rulings."""

    person: int
    liked: float
    in_use: float
    candidate: float


class _Person:
    """What one ruling knows of one person at a point of the course."""

    def __init__(self, course: Course, ruling: Ruling) -> None:
        self._ruling = ruling
        self._skills = {skill.skill_id: skill for skill in course.skills}
        self._space = StyleSpace({skill_id: skill.dimensions for skill_id, skill in self._skills.items()}, ruling.prior)
        self._states: dict[str, SkillState] = {}
        self._posteriors: dict[int, dict[str, Posterior]] = {}
        self._preferences: dict[int, Preference] = {}
        self._cells: dict[tuple[str, str, str, str], Cell] = {}
        self._wishes: dict[str, Wish] = {}
        self._thumbs = 0
        self._taste: TastePosterior | None = None

    def applies(self, one: Logged) -> bool:
        """Whether the logged skill would be at hand at all."""
        skill = self._skills.get(one.skill_id)
        chooser = self._ruling.chooser
        return skill is not None and match_trigger(skill, one.situation, chooser.weights).score >= chooser.threshold - ROUNDING

    def chance(self, one: Logged, draws: int, seed: str) -> float:
        """Of taking the logged skill, counted over so many draws."""
        ruling, bucket = self._ruling, one.situation.bucket
        if ruling.policy.sees_all and self._taste is None:
            evidence = Evidence(bounded(list(self._cells.values()), ruling.cells), tuple(self._wishes.values()))
            self._taste = taste_of(evidence, self._space)
        known = UserKnowledge(
            self._states, self._posteriors.get(bucket, {}), self._preferences.get(bucket, Preference()), self._thumbs,
            one.situation, self._taste,
        )  # fmt: skip
        taken = 0
        for draw in range(draws):
            choice = ruling.chooser.choose(self._skills.values(), ruling.policy, known, random.Random(seed_of(draw, seed)))
            taken += choice.chosen is not None and choice.chosen.skill.skill_id == one.skill_id
        return taken / draws

    def note(self, one: Logged) -> None:
        """It was chosen."""
        state = self._states.get(one.skill_id, SkillState())
        self._states[one.skill_id] = note_selected(state, one.is_exploration, one.at_us)

    def learn(self, thumb: Thumb) -> None:
        """As a feedback event teaches, its text aside."""
        if thumb.skill_id not in self._skills:
            return
        skill_id, dimensions = thumb.skill_id, self._skills[thumb.skill_id].dimensions
        posteriors = self._posteriors.setdefault(thumb.situation.bucket, {})
        before = Knowledge(
            self._states.get(skill_id, SkillState()), posteriors.get(skill_id, Posterior()),
            self._preferences.get(thumb.situation.bucket, Preference()),
        )  # fmt: skip
        after = learn(before, dimensions, thumb.reward, thumb.is_exploration, self._ruling.learning)
        self._states[skill_id], posteriors[skill_id] = after.state, after.posterior
        self._preferences[thumb.situation.bucket] = after.preference
        cell = cell_of(thumb.situation, skill_id)
        weight = weight_of(thumb.reason, self._ruling.content_weight)
        self._cells[cell.key] = with_thumb(self._cells.get(cell.key, cell), thumb.reward, weight)
        for wish in wished(self._wishes, thumb.reward, thumb.reason, dimensions):
            self._wishes[wish.dimension] = wish
        self._thumbs += 1
        self._taste = None


def compare(courses: Iterable[Course], in_use: Ruling, candidate: Ruling, figures: ReplayFigures) -> Comparison:
    """Both rulings on the same decisions of everybody; deterministic."""
    weighed: list[_Weighed] = []
    left_out = {"no_thumb": 0, "no_propensity": 0, "not_replayable": 0, "earlier": 0}
    for number, course in enumerate(courses):
        weighed += _replayed(number, course, in_use, candidate, figures, left_out)
    return _compared(weighed, left_out, figures)


def _replayed(
    number: int, course: Course, in_use: Ruling, candidate: Ruling, figures: ReplayFigures, left_out: dict[str, int]
) -> list[_Weighed]:
    now, then = _Person(course, in_use), _Person(course, candidate)
    judged = sum(isinstance(step, Logged) and step.liked is not None for step in course.steps)
    found: list[_Weighed] = []
    for place, step in enumerate(course.steps):
        if isinstance(step, Thumb):
            now.learn(step)
            then.learn(step)
            continue
        if step.liked is None:
            left_out["no_thumb"] += 1
        elif judged > figures.latest:
            left_out["earlier"] += 1
        elif step.propensity <= 0:
            left_out["no_propensity"] += 1
        elif not now.applies(step):
            left_out["not_replayable"] += 1
        else:
            least, seed = max(step.propensity, LEAST_PROPENSITY), f"{number}/{place}"
            weights = [one.chance(step, figures.draws, seed) / least for one in (now, then)]
            found.append(_Weighed(number, float(step.liked), *weights))
        judged -= step.liked is not None
        now.note(step)
        then.note(step)
    return found


def _compared(weighed: Sequence[_Weighed], left_out: Mapping[str, int], figures: ReplayFigures) -> Comparison:
    people = np.array([one.person for one in weighed], dtype=np.int64)
    liked = np.array([one.liked for one in weighed])
    count, persons = len(weighed), len(set(people.tolist()))
    told = {why: number for why, number in left_out.items() if number}
    if not count:
        return Comparison(TOO_FEW, 0, 0, 0.0, Value(), Value(), 0.0, 0.0, 0.0, told)
    groups = people if persons >= LEAST_PEOPLE else np.arange(count)
    now, pulled_now = _value(np.array([one.in_use for one in weighed]), liked, groups)
    then, pulled_then = _value(np.array([one.candidate for one in weighed]), liked, groups)
    difference, error = then.value - now.value, _error(pulled_then - pulled_now, groups)
    low, high = difference - NORMAL_95 * error, difference + NORMAL_95 * error
    if count < figures.least_decisions:
        outcome = TOO_FEW
    elif any(one.effective < figures.least_effective or one.support < LEAST_SUPPORT for one in (now, then)):
        outcome = NO_SUPPORT
    else:
        outcome = BETTER if low > 0 else WORSE if high < 0 else EQUAL
    return Comparison(outcome, count, persons, float(liked.mean()), now, then, difference, low, high, told)


def _value(weights: Floats, liked: Floats, groups: np.ndarray[tuple[int], np.dtype[np.int64]]) -> tuple[Value, Floats]:
    """The estimate of one ruling, and how far each decision pulls it. Arrays of one place a decision."""
    total = float(weights.sum())
    if total <= 0:
        return Value(0.0, 0.0, 1.0), np.zeros(len(weights))
    value = float((weights * liked).sum()) / total
    pulls: Floats = weights * (liked - value) / total
    error = NORMAL_95 * _error(pulls, groups)
    effective = total * total / float((weights * weights).sum())
    return Value(value, max(0.0, value - error), min(1.0, value + error), effective, total / len(weights)), pulls


def _error(pulls: Floats, groups: np.ndarray[tuple[int], np.dtype[np.int64]]) -> float:
    """Standard error of a ratio by linearisation, what belongs to one group taken together."""
    _, place = np.unique(groups, return_inverse=True)
    sums = np.bincount(place, weights=pulls)
    if len(sums) < 2:
        return 1.0
    return math.sqrt(len(sums) / (len(sums) - 1) * float((sums * sums).sum()))

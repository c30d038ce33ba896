"""Trying out a policy on a log: the estimates against known values, and refusing to say what the log cannot tell."""

import random
from dataclasses import dataclass, replace

import pytest

from aico_memory.domain.behavioral.choosing import Chooser
from aico_memory.domain.behavioral.learning import LearningFigures
from aico_memory.domain.behavioral.policy import Candidate, Choice
from aico_memory.domain.behavioral.policy_replay import Course, Logged, ReplayFigures, Ruling, Thumb, compare
from aico_memory.domain.behavioral.prior import Prior
from aico_memory.domain.behavioral.situation import Situation
from aico_memory.domain.behavioral.trigger import TriggerWeights

LIKED = {"good": 0.8, "fair": 0.5, "poor": 0.2}
HERE = Situation("question", "neutral", "morning")
FIGURES = ReplayFigures(latest=1000, draws=8)


@dataclass(frozen=True)
class Weighted:
    """Takes each skill with a fixed chance, whatever is known; notes how many thumbs were."""

    chances: tuple[tuple[str, float], ...]
    name: str = "weighted"
    sees_all: bool = False

    def choose(self, matches, known, rng):
        left = rng.random()
        for skill_id, chance in self.chances:
            left -= chance
            if left < 0:
                one = next(match for match in matches if match.skill.skill_id == skill_id)
                taken = Candidate(one.skill, one.score, 0.0, 0.0, 0.5, {"trigger": one.score})
                return Choice(self.name, taken, False, taken, (taken,))
        return Choice(self.name, None)


@dataclass(frozen=True)
class AfterThumbs(Weighted):
    """Takes `good` as soon as a thumb was learned, `poor` before."""

    def choose(self, matches, known, rng):
        chosen = replace(self, chances=(("good" if known.feedback_count else "poor", 1.0),))
        return Weighted.choose(chosen, matches, known, rng)


def ruling(policy):
    chooser = Chooser(TriggerWeights(), 0.5, 5)
    return Ruling(policy, chooser, LearningFigures(), Prior(), 200, 0.25)


def weighted(**chances):
    return ruling(Weighted(tuple(chances.items())))


EVEN = weighted(good=1 / 3, fair=1 / 3, poor=1 / 3)


@pytest.fixture(scope="module")
def skills(make_skill):
    return [make_skill(name, intents=("question",)) for name in LIKED]


@pytest.fixture(scope="module")
def log(skills):
    """Twenty people with twenty decisions each, taken evenly, with thumbs of the known chances."""
    rng = random.Random(5)
    courses = []
    for _ in range(20):
        steps = []
        for _ in range(20):
            taken = rng.choice(list(LIKED))
            steps.append(Logged(HERE, taken, 1 / 3, rng.random() < LIKED[taken]))
        courses.append(Course(skills, steps))
    return courses


def test_the_value_of_another_policy_is_told_from_a_log_of_this_one(log):
    found = compare(log, EVEN, weighted(good=0.9, poor=0.1), FIGURES)
    assert (found.outcome, found.decisions, found.people) == ("better", 400, 20)
    assert found.in_use.low < 0.5 < found.in_use.high
    assert found.candidate.low < 0.74 < found.candidate.high
    assert found.low < 0.24 < found.high
    assert found.candidate.high - found.candidate.low < 0.25
    assert found.candidate.support == pytest.approx(1, abs=0.15)
    worse = compare(log, weighted(good=0.9, poor=0.1), EVEN, FIGURES)
    assert (worse.outcome, worse.difference) == ("worse", pytest.approx(-found.difference))


def test_a_policy_beside_itself_differs_in_nothing(log):
    found = compare(log, EVEN, EVEN, FIGURES)
    assert (found.outcome, found.difference) == ("no_difference", 0)
    assert found.in_use == found.candidate
    assert found.observed == pytest.approx(found.in_use.value, abs=0.1)


def test_too_little_is_said_to_be_too_little(log, skills):
    few = compare(log[:3], EVEN, weighted(good=1.0), FIGURES)
    assert (few.outcome, few.decisions) == ("too_few_decisions", 60)
    never_taken = [Course(skills, [replace(step, skill_id="fair", propensity=1.0) for step in one.steps]) for one in log]
    found = compare(never_taken, weighted(fair=1.0), weighted(good=1.0), FIGURES)
    assert (found.outcome, found.candidate.support, found.candidate.effective) == ("too_little_support", 0, 0)
    assert (found.candidate.low, found.candidate.high) == (0, 1)
    none = compare([], EVEN, EVEN, FIGURES)
    assert (none.outcome, none.decisions) == ("too_few_decisions", 0)


def test_what_says_nothing_is_left_out_and_counted(skills):
    steps = [
        Logged(HERE, "good", 0.5, None), Logged(HERE, "good", 0.0, True), Logged(HERE, "gone", 0.5, True),
        Logged(Situation("other"), "good", 0.5, True), Logged(HERE, "good", 0.5, True),
    ]  # fmt: skip
    found = compare([Course(skills, steps)], EVEN, EVEN, FIGURES)
    assert (found.decisions, found.left_out) == (1, {"no_thumb": 1, "no_propensity": 1, "not_replayable": 2})
    latest = compare([Course(skills, steps)], EVEN, EVEN, replace(FIGURES, latest=2))
    assert (latest.decisions, latest.left_out["earlier"]) == (1, 2)


def test_each_decision_is_judged_by_what_was_learned_before_it_and_never_by_itself(skills):
    course = Course(skills, [
        Logged(HERE, "poor", 0.5, False), Logged(HERE, "good", 0.5, True), Thumb(HERE, "poor", -1), Thumb(HERE, "good", 1),
        Logged(HERE, "good", 0.5, True), Logged(HERE, "poor", 0.5, False),
    ])  # fmt: skip
    found = compare([course], EVEN, ruling(AfterThumbs(())), FIGURES)
    # Of the four it takes the first (poor, before any thumb) and the third (good, afterwards), each with certainty.
    assert (found.candidate.value, found.candidate.effective, found.candidate.support) == (0.5, 2, 1)


def test_the_same_log_gives_the_same_answer(log):
    assert compare(log, EVEN, weighted(good=0.9, poor=0.1), FIGURES) == compare(
        log, EVEN, weighted(good=0.9, poor=0.1), FIGURES
    )

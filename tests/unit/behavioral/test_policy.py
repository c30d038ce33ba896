import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.behavioral.explanation import explain, question_for, worded
from aico_memory.domain.behavioral.hierarchical import HIERARCHICAL, HierarchicalFigures
from aico_memory.domain.behavioral.learning import Posterior, Preference, SkillState
from aico_memory.domain.behavioral.policies import policy_named
from aico_memory.domain.behavioral.policy import (
    HYBRID,
    Candidate,
    Choice,
    FixedPolicy,
    HybridFigures,
    HybridPolicy,
    UserKnowledge,
    exploration_rate,
    seed_of,
)
from aico_memory.domain.behavioral.trigger import TriggerMatch

FIGURES = HybridFigures()
POLICY = HybridPolicy()


class Scripted:
    """Draws that are given: posterior samples in order, then uniform numbers in order."""

    def __init__(self, samples, uniforms):
        self._samples, self._uniforms = list(samples), list(uniforms)

    def betavariate(self, alpha, beta):
        return self._samples.pop(0)

    def random(self):
        return self._uniforms.pop(0)


@pytest.fixture
def matches(make_skill):
    return [
        TriggerMatch(make_skill("short", dimensions=(0.0,) * 16), 1.0, ()),
        TriggerMatch(make_skill("long", dimensions=(1.0,) * 16), 1.0, ()),
        TriggerMatch(make_skill("middle"), 0.6, ()),
    ]


def test_the_rate_of_exploration_reaches_its_floor_after_fourteen_thumbs():
    assert exploration_rate(0, FIGURES) == pytest.approx(0.1)
    assert exploration_rate(13, FIGURES) == pytest.approx(0.1 * 0.95**13)
    assert exploration_rate(13, FIGURES) > 0.05
    assert exploration_rate(14, FIGURES) == exploration_rate(1000, FIGURES) == 0.05


COUNTED = HybridPolicy(HybridFigures(propensity_draws=256))


@pytest.mark.parametrize("confidences", [(0.5, 0.5, 0.5), (0.9, 0.4, 0.2), (0.2, 0.6, 0.6)])
def test_the_hybrid_tells_the_chance_with_which_it_chose(matches, confidences):
    known = UserKnowledge(
        {match.skill.skill_id: SkillState(confidence=one) for match, one in zip(matches, confidences, strict=True)},
        {"short": Posterior(4, 2), "long": Posterior(2, 2), "middle": Posterior(9, 1)},
        Preference((0.4,) * 16), 3,
    )  # fmt: skip
    told: dict[str, list[float]] = {}
    for seed in range(4000):
        choice = COUNTED.choose(matches, known, random.Random(seed))
        told.setdefault(choice.chosen.skill.skill_id, []).append(choice.propensity)
        assert replace(choice, propensity=0.0) == POLICY.choose(matches, known, random.Random(seed)), "the same choice"
    for chances in told.values():
        share = len(chances) / 4000
        assert sum(chances) / len(chances) == pytest.approx(share, abs=0.03)
        # Inverse propensity weighting counts each skill once a request on the mean.
        assert sum(1 / one for one in chances) / 4000 == pytest.approx(1.0, abs=0.15)


def test_the_chance_of_a_choice_without_any_confident_skill_is_that_of_exploring(matches):
    known = UserKnowledge({match.skill.skill_id: SkillState(confidence=0.2) for match in matches}, feedback_count=100)
    explored = COUNTED.choose(
        matches, known, next(rng for seed in range(500) if (rng := random.Random(seed)) and _explores(seed))
    )
    assert explored.propensity == pytest.approx(0.05 / 3)
    assert POLICY.choose(matches, known, random.Random(1)).propensity == 0.0


def _explores(seed):
    draws = random.Random(seed)
    for _ in range(3):
        draws.betavariate(1, 1)
    return draws.random() < 0.05


@given(st.integers(0, 500))
def test_the_rate_of_exploration_never_rises(count):
    assert exploration_rate(count + 1, FIGURES) <= exploration_rate(count, FIGURES)


def test_the_score_is_forty_thirty_thirty(matches):
    choice = POLICY.choose(matches[:1], UserKnowledge(), Scripted([0.8], [0.99, 0.0]))
    assert choice.chosen.shares == pytest.approx({"trigger": 0.4, "posterior": 0.24, "alignment": 0.15})
    assert choice.chosen.score == pytest.approx(0.79)


def test_the_best_score_is_chosen(matches):
    choice = POLICY.choose(matches, UserKnowledge(), Scripted([0.1, 0.9, 0.2], [0.99, 0.0]))
    assert choice.chosen.skill.skill_id == "long"
    assert not choice.is_exploration


def test_a_learned_preference_decides_between_equals(matches):
    known = UserKnowledge(preference=Preference((0.1,) * 16, 9))
    choice = POLICY.choose(matches, known, Scripted([0.5, 0.5, 0.5], [0.99, 0.0]))
    assert choice.chosen.skill.skill_id == "short"


def test_a_skill_of_low_confidence_is_used_by_exploration_only(matches):
    known = UserKnowledge(states={"long": SkillState(0.29)})
    assert POLICY.choose(matches, known, Scripted([0.1, 0.99, 0.1], [0.99, 0.0])).chosen.skill.skill_id == "short"
    explored = POLICY.choose(matches[:2], known, Scripted([0.1, 0.99], [0.01, 0.0]))
    assert explored.chosen.skill.skill_id == "long"
    assert explored.is_exploration
    assert explored.preferred.skill.skill_id == "short"


def test_exploration_takes_no_skill_of_higher_confidence(matches):
    known = UserKnowledge(states={"long": SkillState(0.8)})
    choice = POLICY.choose(matches[:2], known, Scripted([0.99, 0.0], [0.01, 0.0]))
    assert choice.chosen.skill.skill_id == "short"
    assert not choice.is_exploration


def test_where_no_skill_is_confident_none_is_chosen_and_that_is_said(matches):
    known = UserKnowledge(states={one: SkillState(0.2) for one in ("short", "long", "middle")})
    choice = POLICY.choose(matches, known, Scripted([0.5] * 3, [0.99, 0.0]))
    assert choice.chosen is None
    assert "below the confidence" in explain(choice)


def test_where_nothing_applies_none_is_chosen_and_that_is_said():
    choice = POLICY.choose([], UserKnowledge(), random.Random(1))
    assert choice.chosen is None
    assert "No skill's conditions" in explain(choice)


@given(st.integers(0, 2**64 - 1), st.floats(0.2, 0.9), st.integers(1, 50), st.integers(1, 50))
def test_the_same_seed_gives_the_same_choice_and_shares_sum_to_the_score(make_skill, seed, confidence, alpha, beta):
    skills = [TriggerMatch(make_skill(name), 0.9, ()) for name in ("a", "b", "c")]
    known = UserKnowledge({"b": SkillState(confidence)}, {"c": Posterior(alpha, beta)}, Preference(), 3)
    one = POLICY.choose(skills, known, random.Random(seed))
    assert one == POLICY.choose(skills, known, random.Random(seed))
    for candidate in one.candidates:
        assert sum(candidate.shares.values()) == pytest.approx(candidate.score)
        assert 0.0 <= candidate.score <= 1.0


def test_about_one_in_twenty_choices_explores_when_much_is_known(matches):
    known = UserKnowledge(feedback_count=100)
    explored = Counter(POLICY.choose(matches, known, random.Random(seed)).is_exploration for seed in range(4000))
    assert 0.03 < explored[True] / 4000 < 0.07


def test_requests_and_deployments_have_seeds_of_their_own():
    assert seed_of(0, "a") == seed_of(0, "a")
    assert len({seed_of(0, "a"), seed_of(0, "b"), seed_of(1, "a")}) == 3


def test_without_consent_the_best_match_is_taken_whatever_was_learned(matches):
    known = UserKnowledge(states={"long": SkillState(0.2)}, feedback_count=100)
    choices = {FixedPolicy().choose(matches, known, random.Random(seed)).chosen.skill.skill_id for seed in range(50)}
    assert choices == {"long"}, "of two equal ones the first by name"
    assert "learning is switched off" in explain(FixedPolicy().choose(matches, known, random.Random(0)))


def test_an_explanation_names_skill_and_shares(matches):
    text = explain(POLICY.choose(matches[:1], UserKnowledge(), Scripted([0.8], [0.99, 0.0])))
    assert '"short" scores 0.790' in text
    assert "0.400 fit with the situation" in text
    assert worded(text, str.title).startswith("Short scores 0.790: 0.400 fit")


@pytest.mark.parametrize("skill_id", ["short", 'say "no"', '"', '""', "", "a\\b %s {0}"])
def test_whatever_a_skill_is_called_it_stands_in_an_explanation_by_its_id_until_it_is_told(make_skill, skill_id):
    one = Candidate(make_skill(skill_id, name='The "best" one'), 1.0, 0.5, 0.5, 0.5, {"trigger": 0.4})
    other = Candidate(make_skill("usual", name="Usual"), 1.0, 0.5, 0.5, 0.5, {})
    text = explain(Choice("p", one, True, other, (one, other), propensity=0.2))
    assert "best" not in text
    told = worded(text, {skill_id: 'The "best" one', "usual": "Usual"}.__getitem__)
    assert told.startswith('The "best" one scores 0.400: 0.400 fit with the situation. It was tried out instead of Usual')


def test_an_exploration_tells_how_often_it_is_made(matches):
    first, other = (Candidate(one.skill, one.score, 0.5, 0.5, 0.5, {}) for one in matches[:2])
    by_chance = Choice("p", first, True, other, (first, other), epsilon=0.05, propensity=0.2)
    assert explain(by_chance).endswith("to learn more (chance 0.050).")
    assert explain(replace(by_chance, epsilon=0.0)).endswith("to learn more (chance 0.200).")


def test_an_exploration_asks_about_the_dimension_that_differs_most(make_skill):
    brief = TriggerMatch(make_skill("brief", dimensions=(0.1, *(0.5,) * 15)), 1.0, ())
    usual = TriggerMatch(make_skill("usual", dimensions=(0.9, *(0.5,) * 15)), 1.0, ())
    choice = POLICY.choose([brief, usual], UserKnowledge(), Scripted([0.1, 0.9], [0.01, 0.0]))
    assert choice.is_exploration
    assert question_for(choice) == "Would a paragraph have been better here?"
    assert question_for(POLICY.choose([brief, usual], UserKnowledge(), Scripted([0.1, 0.9], [0.99, 0.0]))) == ""


def test_the_baseline_is_selectable_by_its_name():
    assert policy_named(HYBRID, FIGURES, HierarchicalFigures()).name == "hybrid-40-30-30"
    assert policy_named(HIERARCHICAL, FIGURES, HierarchicalFigures()).name == "hierarchical-thompson"
    assert policy_named("another", FIGURES, HierarchicalFigures()) is None


def test_without_consent_what_is_made_for_the_situation_comes_before_what_fits_many(make_skill):
    broad = make_skill("all_round", intents=["summary", "question", "request"])
    made_for = make_skill("summing_up", intents=["summary"])
    any_intent = make_skill("a_comfort", sentiments=["negative"])
    sad = make_skill("sad", intents=["summary"], sentiments=["negative"])
    matches = [
        TriggerMatch(sad, 0.73, (("intent", 0.73), ("sentiment", 0.0))), TriggerMatch(any_intent, 1.0, (("sentiment", 1.0),)),
        TriggerMatch(broad, 1.0, (("intent", 1.0),)), TriggerMatch(made_for, 0.6, (("intent", 0.57), ("topic", 0.03))),
    ]  # fmt: skip
    choice = FixedPolicy().choose(matches, UserKnowledge(), random.Random(0))
    assert [one.skill.skill_id for one in choice.candidates] == ["summing_up", "all_round", "a_comfort", "sad"]

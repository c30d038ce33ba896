import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.behavioral.situation import Situation
from aico_memory.domain.behavioral.trigger import (
    ROUNDING,
    TriggerWeights,
    match_trigger,
    rank_triggers,
    topic_could_decide,
)

WEIGHTS = TriggerWeights()


def score(skill, **situation):
    return match_trigger(skill, Situation(**situation), WEIGHTS).score


def test_all_four_conditions_weigh_forty_fifteen_fifteen_thirty(make_skill):
    skill = make_skill(intents=["question"], times=["morning"], sentiments=["neutral"], topics=["music"])
    assert score(skill, intent="question", nearness={"one": 0.0}) == pytest.approx(0.40)
    assert score(skill, time_of_day="morning", nearness={"one": 0.0}) == pytest.approx(0.15)
    assert score(skill, sentiment="neutral", nearness={"one": 0.0}) == pytest.approx(0.15)
    assert score(skill, nearness={"one": 1.0}) == pytest.approx(0.30)


def test_a_skill_that_states_only_its_intent_is_matched_by_it_alone(make_skill):
    assert score(make_skill(intents=["question", "request"]), intent="request") == 1.0


def test_a_missed_intent_is_not_made_up_for_by_conditions_the_skill_does_not_state(make_skill):
    assert score(make_skill(intents=["question"]), intent="casual", sentiment="neutral", time_of_day="morning") == 0.0
    with_time = make_skill(intents=["question"], times=["morning"])
    assert score(with_time, intent="casual", time_of_day="morning") == pytest.approx(0.15 / 0.55)


def test_scores_are_renormalised_over_the_stated_conditions(make_skill):
    skill = make_skill(intents=["question"], topics=["music"])
    assert score(skill, intent="question", nearness={"one": 0.5}) == pytest.approx((0.40 + 0.15) / 0.70)


def test_a_negative_cosine_counts_nothing(make_skill):
    skill = make_skill(intents=["question"], topics=["music"])
    assert score(skill, intent="question", nearness={"one": -0.9}) == pytest.approx(0.40 / 0.70)


def test_a_topic_without_vectors_is_left_out(make_skill):
    assert score(make_skill(intents=["question"], topics=["music"]), intent="question") == 1.0
    assert score(make_skill(topics=["music"])) == 0.0


def test_half_of_the_weight_applies_and_less_does_not(make_skill):
    skill = make_skill(times=["morning"], sentiments=["neutral"])
    assert rank_triggers([skill], Situation(sentiment="neutral"), WEIGHTS, 0.5, 5)
    assert not rank_triggers([skill], Situation(), WEIGHTS, 0.5, 5)


def test_the_best_five_go_on_and_equals_are_ordered_by_name(make_skill):
    skills = [make_skill(f"s{number}", intents=["question"], name=f"Name {9 - number}") for number in range(8)]
    better = make_skill("z", intents=["question"], sentiments=["neutral"])
    worse = make_skill("a", intents=["question"], times=["morning"])
    found = rank_triggers([worse, *skills, better], Situation("question", "neutral", "night"), WEIGHTS, 0.5, 5)
    assert [match.skill.name for match in found] == ["Name 2", "Name 3", "Name 4", "Name 5", "Name 6"]


labels = st.sampled_from(["", "a", "b", "c"])
lists = st.lists(st.sampled_from(["a", "b", "c"]), max_size=2)
cosines = st.one_of(st.none(), st.floats(-1, 1))


@given(lists, lists, lists, st.booleans(), labels, labels, labels, cosines)
def test_a_score_lies_within_bounds_and_is_the_sum_of_its_parts(
    make_skill, intents, times, sentiments, topical, intent, sentiment, time, cosine
):
    skill = make_skill(intents=intents, times=times, sentiments=sentiments, topics=["x"] if topical else [])
    nearness = {} if cosine is None else {"one": cosine}
    match = match_trigger(skill, Situation(intent, sentiment, time, nearness), WEIGHTS)
    assert 0.0 <= match.score <= 1.0
    assert sum(part for _, part in match.parts) == pytest.approx(match.score)


@given(lists, lists, lists, st.booleans(), labels, labels, labels, cosines, st.floats(0.1, 1))
def test_ranking_finds_exactly_the_skills_whose_score_reaches_the_threshold(
    make_skill, intents, times, sentiments, topical, intent, sentiment, time, cosine, threshold
):
    skill = make_skill(intents=intents, times=times, sentiments=sentiments, topics=["x"] if topical else [])
    situation = Situation(intent, sentiment, time, {} if cosine is None else {"one": cosine})
    reaches = match_trigger(skill, situation, WEIGHTS).score >= threshold - ROUNDING
    assert bool(rank_triggers([skill], situation, WEIGHTS, threshold, 5)) == reaches


@given(lists, lists, lists, labels, labels, labels, st.floats(0, 1))
def test_a_topic_that_could_not_decide_never_makes_a_skill_apply(
    make_skill, intents, times, sentiments, intent, sentiment, time, cosine
):
    skill = make_skill(intents=intents, times=times, sentiments=sentiments, topics=["x"])
    assert not topic_could_decide(make_skill(intents=intents), intent, WEIGHTS, 0.5)
    if not topic_could_decide(skill, intent, WEIGHTS, 0.5):
        for nearness in ({}, {"one": cosine}):
            assert not rank_triggers([skill], Situation(intent, sentiment, time, nearness), WEIGHTS, 0.5, 5)


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_a_nearer_topic_never_scores_lower(make_skill, one, other):
    skill = make_skill(intents=["a"], topics=["x"])
    low, high = sorted((one, other))
    assert score(skill, intent="a", nearness={"one": low}) <= score(skill, intent="a", nearness={"one": high})

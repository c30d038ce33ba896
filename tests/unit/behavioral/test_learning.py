import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.behavioral.dimensions import NEUTRAL
from aico_memory.domain.behavioral.learning import (
    Knowledge,
    LearningFigures,
    Posterior,
    Preference,
    SkillState,
    check_feedback,
    learn,
    note_selected,
    step_confidence,
    step_posterior,
    step_state,
)
from aico_memory.errors import InvalidMessage, InvalidReward

FIGURES = LearningFigures()
rewards = st.sampled_from((-1, 0, 1))
CORNER = (1.0,) * 16


def test_the_first_thumb_up_leads_from_a_half_to_fifty_nine():
    assert step_confidence(0.5, 0, 1, FIGURES) == pytest.approx(0.59)


def test_the_first_thumb_down_leads_from_a_half_to_forty_one():
    assert step_confidence(0.5, 0, -1, FIGURES) == pytest.approx(0.41)


def test_after_ten_uses_the_steps_are_slow():
    assert step_confidence(0.5, 9, 1, FIGURES) == pytest.approx(0.59)
    assert step_confidence(0.5, 10, 1, FIGURES) == pytest.approx(0.53)


def test_the_golden_sequence_of_twelve_thumbs():
    state, seen = SkillState(), []
    for reward in (1, 1, -1, 1, 0, 1, -1, 1, 1, 1, 1, 1, 1):
        state = step_state(state, reward, False, FIGURES)
        seen.append(round(state.confidence, 4))
    assert seen == [0.59, 0.653, 0.5171, 0.602, 0.602, 0.6614, 0.523, 0.6061, 0.6643, 0.705, 0.7335, 0.7401, 0.7461]
    assert (state.uses, state.positive, state.negative) == (12, 10, 2)


@given(st.floats(0.2, 0.9), st.integers(0, 1000), rewards)
def test_confidence_stays_within_its_clamps(confidence, uses, reward):
    assert 0.2 <= step_confidence(confidence, uses, reward, FIGURES) <= 0.9


@given(st.floats(0.2, 0.9), st.integers(0, 1000))
def test_a_thumb_up_is_never_worth_less_than_a_thumb_down(confidence, uses):
    assert step_confidence(confidence, uses, 1, FIGURES) > step_confidence(confidence, uses, -1, FIGURES)


@given(st.floats(0.2, 0.8), st.integers(0, 1000))
def test_below_its_target_a_thumb_up_raises_confidence_and_never_passes_the_target(confidence, uses):
    assert confidence <= step_confidence(confidence, uses, 1, FIGURES) <= 0.8 + 1e-12


@given(st.floats(0.2, 0.9), st.lists(rewards, max_size=80))
def test_confidence_varies_little_after_fifty_uses(confidence, later):
    state = SkillState(confidence=confidence, uses=50)
    seen = [state.confidence]
    for reward in later:
        state = step_state(state, reward, False, FIGURES)
        seen.append(state.confidence)
    mean = sum(seen) / len(seen)
    assert sum((value - mean) ** 2 for value in seen) / len(seen) < 0.1


def test_a_posterior_counts_successes_and_failures():
    posterior = Posterior()
    for reward in (1, 1, -1, 0):
        posterior = step_posterior(posterior, reward)
    assert posterior == Posterior(3.0, 2.0)
    assert posterior.mean == pytest.approx(0.6)


def test_a_reward_of_zero_changes_nothing_at_all():
    known = Knowledge(SkillState(0.7, 3, 2, 1), Posterior(3, 2), Preference(CORNER, 4))
    assert learn(known, NEUTRAL, 0, True, FIGURES) is known


def test_one_thumb_up_moves_all_three_states():
    learned = learn(Knowledge(SkillState(), Posterior(), Preference()), CORNER, 1, True, FIGURES)
    assert learned.state == SkillState(0.59, 1, 1, 0, 0, 0, 1, 0, 0)
    assert learned.posterior == Posterior(2.0, 1.0)
    assert learned.preference.updates == 1
    assert learned.preference.dimensions == pytest.approx((0.55,) * 16)


def test_outcomes_of_exploration_are_counted_apart():
    state = note_selected(SkillState(), True, 7)
    state = step_state(state, -1, True, FIGURES)
    state = step_state(state, 1, False, FIGURES)
    assert (state.selected, state.explored, state.explored_positive, state.explored_negative) == (1, 1, 0, 1)
    assert (state.positive, state.negative, state.last_used_us) == (1, 1, 7)


def test_a_selection_alone_moves_no_confidence():
    assert note_selected(SkillState(0.4), False, 1).confidence == 0.4


@pytest.mark.parametrize("reward", [-2, 2, 5])
def test_a_reward_beyond_a_thumb_is_refused(reward):
    with pytest.raises(InvalidReward, match=str(reward)):
        check_feedback(reward, "")


def test_a_reason_that_is_not_listed_is_refused_with_the_list():
    with pytest.raises(InvalidMessage, match="boring") as refusal:
        check_feedback(1, "boring")
    assert "too_verbose" in refusal.value.mend

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.behavioral.dimensions import (
    DIMENSIONS,
    NEUTRAL,
    alignment,
    checked_vector,
    named,
    pull,
    vector_of,
)
from aico_memory.errors import InvalidMessage

vectors = st.lists(st.floats(0, 1), min_size=16, max_size=16).map(tuple)
rewards = st.sampled_from((-1, 0, 1))


def test_there_are_sixteen_named_dimensions():
    assert len(DIMENSIONS) == len(set(DIMENSIONS)) == 16


def test_named_dimensions_come_back_under_their_names():
    values = {name: index / 16 for index, name in enumerate(DIMENSIONS)}
    assert named(vector_of(values)) == values


def test_the_reserved_dimensions_may_be_left_out():
    vector = vector_of({name: 0.1 for name in DIMENSIONS if not name.startswith("reserved_")})
    assert vector[-2:] == (0.5, 0.5)


@pytest.mark.parametrize(
    ("change", "named_fault"),
    [({"verbosty": 0.5}, "verbosty"), ({"verbosity": 1.5}, "verbosity"), ({"patience": math.nan}, "patience")],
)
def test_a_wrong_dimension_is_refused_by_name(change, named_fault):
    values = dict.fromkeys(DIMENSIONS, 0.5) | change
    with pytest.raises(InvalidMessage, match=named_fault):
        vector_of(values)


def test_a_missing_dimension_is_refused_by_name():
    with pytest.raises(InvalidMessage, match="directness"):
        vector_of({name: 0.5 for name in DIMENSIONS if name != "directness"})


def test_a_vector_of_another_length_is_refused():
    with pytest.raises(InvalidMessage, match="15 dimensions"):
        checked_vector([0.5] * 15)


def test_opposite_corners_have_no_alignment_and_equal_vectors_have_all_of_it():
    assert alignment((0.0,) * 16, (1.0,) * 16) == 0.0
    assert alignment(NEUTRAL, NEUTRAL) == 1.0


@given(vectors, vectors)
def test_alignment_is_symmetric_and_within_bounds(one, other):
    assert 0.0 <= alignment(one, other) <= 1.0
    assert alignment(one, other) == pytest.approx(alignment(other, one))


@given(vectors, vectors, rewards, st.floats(0, 1))
def test_a_pulled_preference_stays_within_bounds(preference, dimensions, reward, rate):
    assert all(0.0 <= value <= 1.0 for value in pull(preference, dimensions, reward, rate))


@given(vectors, vectors)
def test_a_thumb_up_never_takes_the_preference_further_from_the_skill(preference, dimensions):
    pulled = pull(preference, dimensions, 1, 0.1)
    assert math.dist(pulled, dimensions) <= math.dist(preference, dimensions) + 1e-12


@given(vectors, vectors)
def test_a_thumb_down_never_brings_the_preference_nearer_to_the_skill(preference, dimensions):
    pushed = pull(preference, dimensions, -1, 0.1)
    assert all(
        abs(after - wanted) >= abs(before - wanted) - 1e-12
        for after, before, wanted in zip(pushed, preference, dimensions, strict=True)
    )


@given(vectors, vectors)
def test_no_reward_leaves_the_preference_as_it_is(preference, dimensions):
    assert pull(preference, dimensions, 0, 0.1) == preference

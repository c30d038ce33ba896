"""The Miller buffer."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.working.buffer import BufferEntry, BufferRules, attention, is_promotion_candidate, touch

RULES = BufferRules()
MINUTE = 60_000_000
NOW = 10**15
items = st.tuples(st.sampled_from([f"m{number}" for number in range(14)]), st.text(max_size=5), st.floats(0, 1))
steps = st.lists(st.tuples(st.lists(items, max_size=12), st.integers(-5 * MINUTE, 90 * MINUTE)), max_size=12)


def remembered(script):
    """The buffer after a script of (items, time that passed before)."""
    now, held = NOW, ()
    for touched, passed in script:
        now += passed
        held = touch(held, touched, now, RULES)
    return held, now


def test_attention_follows_the_formula():
    entry = BufferEntry("m", "", 0.8, 3, NOW)
    assert attention(entry, NOW, RULES) == pytest.approx(0.8 * 1.3)
    assert attention(entry, NOW + 30 * MINUTE, RULES) == pytest.approx(0.8 * math.exp(-1) * 1.3)
    assert attention(entry, NOW - MINUTE, RULES) == attention(entry, NOW, RULES)


def test_a_repeated_id_is_updated_in_place():
    held = touch((), [("a", "old", 0.5), ("b", "other", 0.5)], NOW, RULES)
    held = touch(held, [("a", "new", 0.4)], NOW + MINUTE, RULES)
    assert held == (BufferEntry("a", "new", 0.4, 2, NOW + MINUTE), BufferEntry("b", "other", 0.5, 1, NOW))


def test_the_tenth_item_pushes_out_the_least_attended():
    held = touch((), [(f"m{number}", "", 0.5) for number in range(9)], NOW, RULES)
    held = touch(held, [(f"m{number}", "", 0.5) for number in range(9) if number != 4], NOW + MINUTE, RULES)
    held = touch(held, [("new", "", 0.5)], NOW + 2 * MINUTE, RULES)
    assert len(held) == 9
    assert "m4" not in {entry.id for entry in held}
    assert held[-1].id == "new"


def test_a_newcomer_of_no_importance_does_not_push_out_what_matters():
    held = touch((), [(f"m{number}", "", 0.5) for number in range(9)], NOW, RULES)
    assert touch(held, [("noise", "", 0.01)], NOW, RULES) == held


@pytest.mark.parametrize(
    ("accesses", "importance", "expected"), [(1, 0.59, False), (2, 0.0, True), (1, 0.6, True), (1, 0.0, False)]
)
def test_seen_again_or_important_makes_a_candidate(accesses, importance, expected):
    assert is_promotion_candidate(BufferEntry("m", "", importance, accesses, NOW), RULES) is expected


@given(script=steps)
def test_there_are_never_more_than_nine_and_no_id_twice(script):
    held, _ = remembered(script)
    assert len(held) <= 9
    assert len({entry.id for entry in held}) == len(held)


@given(script=steps, touched=st.lists(items, min_size=1, max_size=5))
def test_nothing_that_stays_has_less_attention_than_what_goes(script, touched):
    held, now = remembered(script)
    after = touch(held, touched, now, RULES)
    everything = touch(held, touched, now, BufferRules(capacity=10**6))
    gone = [entry for entry in everything if entry not in after]
    if gone:
        worst_kept = min(attention(entry, now, RULES) for entry in after)
        assert max(attention(entry, now, RULES) for entry in gone) <= worst_kept


@given(script=steps)
def test_an_access_count_is_the_number_of_touches_since_the_item_came(script):
    held, _ = remembered(script)
    for entry in held:
        touches = sum(identifier == entry.id for touched, _ in script for identifier, _, _ in touched)
        assert 1 <= entry.access_count <= touches

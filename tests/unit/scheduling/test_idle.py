"""The idle rule."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.scheduling.idle import IdleRule, IdleState, is_idle, observe, wants_sample

RULE = IdleRule()
SECOND = 1_000_000
START = 1_800_000_000 * SECOND


def sampled(loads: list[float]) -> tuple[IdleState, int]:
    state, now = IdleState(), START
    for load in loads:
        now += 60 * SECOND
        state = observe(state, RULE, now, load)
    return state, now


def test_five_quiet_minutes_without_a_message_are_idle() -> None:
    state, now = sampled([5.0] * 6)
    assert is_idle(state, RULE, 0, now)


def test_less_than_five_quiet_minutes_are_not_idle() -> None:
    state, now = sampled([5.0] * 5)
    assert not is_idle(state, RULE, 0, now)


def test_one_busy_sample_starts_the_count_again() -> None:
    state, now = sampled([5.0] * 20 + [20.0])
    assert not is_idle(state, RULE, 0, now)
    state, now = sampled([5.0] * 20 + [95.0] + [5.0] * 6)
    assert is_idle(state, RULE, 0, now)


def test_a_message_within_the_time_is_not_idle() -> None:
    state, now = sampled([5.0] * 10)
    assert not is_idle(state, RULE, now - 299 * SECOND, now)
    assert is_idle(state, RULE, now - 300 * SECOND, now)


def test_nothing_is_known_before_the_first_sample() -> None:
    assert not is_idle(IdleState(), RULE, 0, START)
    assert wants_sample(IdleState(), RULE, START)


def test_the_load_is_looked_at_every_minute() -> None:
    state = observe(IdleState(), RULE, START, 5.0)
    assert not wants_sample(state, RULE, START + 59 * SECOND)
    assert wants_sample(state, RULE, START + 60 * SECOND)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=40))
def test_idle_means_that_every_sample_of_the_window_was_quiet(loads: list[float]) -> None:
    state, now = sampled(loads)
    assert is_idle(state, RULE, 0, now) == (len(loads) >= 6 and all(load < 20.0 for load in loads[-6:]))

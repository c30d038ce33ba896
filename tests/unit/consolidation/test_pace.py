"""How large the next batch is, and how long a run will take."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.consolidation.estimate import Cost, expected_seconds, rate_of
from aico_memory.domain.consolidation.pace import Pace, next_size

PACE = Pace(first=100, least=10, most=500, seconds=2.0)


def test_the_first_batch_has_the_configured_size() -> None:
    assert next_size(PACE, 0, 0.0) == 100


def test_a_slow_batch_makes_the_next_one_smaller_and_a_fast_one_larger() -> None:
    assert next_size(PACE, 100, 4.0) == 50
    assert next_size(PACE, 100, 2.5) == 80
    assert next_size(PACE, 100, 1.6) == 125
    assert next_size(PACE, 100, 0.01) == 200, "never more than double"
    assert next_size(PACE, 100, 99.0) == 50, "never less than half"
    assert next_size(PACE, 400, 0.1) == 500
    assert next_size(PACE, 12, 50.0) == 10


def test_a_clock_that_stands_still_changes_nothing() -> None:
    assert next_size(PACE, 70, 0.0) == 70
    assert next_size(PACE, 70, -1.0) == 70


def test_a_configured_size_below_the_least_stays_as_it_is() -> None:
    assert next_size(Pace(first=3, least=10, most=500), 3, 100.0) == 3


@given(st.floats(0.0001, 1.0), st.integers(1, 500))
def test_the_size_settles_where_a_batch_takes_the_wished_time(each: float, start: int) -> None:
    size = start
    for _ in range(40):
        size = next_size(PACE, size, size * each)
    wished = min(PACE.most, max(PACE.least, PACE.seconds / each))
    assert abs(size - wished) <= 0.1 * wished + 1


def test_rates_come_from_earlier_runs_and_from_a_guess_before_there_were_any() -> None:
    assert rate_of("decay", [], 0.5).seconds == 0.5
    assert rate_of("decay", [], 0.5).runs == 0
    costs = [Cost("decay", 4.0, 100, beside=2), Cost("decay", 1.0, 100), Cost("decay", 9.0, 0), Cost("kinds", 50.0, 1)]
    rate = rate_of("decay", costs, 0.5)
    assert (rate.runs, rate.seconds) == (2, 0.015)
    assert expected_seconds(rate, 200) == 3.0

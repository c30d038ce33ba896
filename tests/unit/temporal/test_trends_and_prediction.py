"""Slopes, volatility, change points by Pettitt's test, and predictions with honest intervals."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.temporal.prediction import Prediction, Unknown, predict, student_t
from aico_memory.domain.temporal.trends import Point, change_points, pettitt, trend
from aico_memory.settings.memory_model import EvolutionSettings
from tests.support.memory_items import DAY, START

FIGURES = EvolutionSettings()
FREE = (-1e9, 1e9)


def daily(values) -> list[Point]:
    return [Point(START + number * DAY, value) for number, value in enumerate(values)]


def noise(seed: int, count: int) -> list[float]:
    rng = random.Random(seed)
    return [rng.gauss(0, 1) for _ in range(count)]


@given(st.floats(-10, 10), st.floats(-100, 100), st.integers(3, 40))
def test_a_line_has_its_slope_and_neither_volatility_nor_change(slope: float, start: float, count: int) -> None:
    found = trend(daily([start + slope * number for number in range(count)]), FIGURES)
    assert found is not None
    assert found.slope == pytest.approx(slope, abs=1e-9)
    assert found.volatility == pytest.approx(0, abs=1e-6)


def test_a_drift_is_not_reported_as_a_change() -> None:
    values = [0.1 * number + 0.3 * one for number, one in enumerate(noise(3, 60))]
    assert pettitt(values)[1] < 1e-6
    assert change_points(daily(values), FIGURES) == ()


def test_the_order_in_which_values_come_does_not_matter() -> None:
    series = daily([0.2, 0.5, 0.1, 0.9, 0.4])
    assert trend(series[::-1], FIGURES) == trend(series, FIGURES)


def test_too_few_values_have_no_trend() -> None:
    assert trend(daily([1, 2]), FIGURES) is None
    assert trend([Point(START, value) for value in range(9)], FIGURES) is None


def test_a_step_is_found_where_it_is_with_its_levels() -> None:
    values = [0.2, 0.25, 0.2, 0.15, 0.2, 0.25, 0.2, 0.8, 0.85, 0.8, 0.75, 0.8, 0.85, 0.8]
    (found,) = change_points(daily(values), FIGURES)
    assert found.at_us == START + 7 * DAY
    assert (found.before, found.after) == (pytest.approx(0.2071, abs=1e-4), pytest.approx(0.8071, abs=1e-4))
    assert found.p_value < 0.05


def test_two_steps_are_found_in_order() -> None:
    values = [level + 0.1 * one for level, one in zip([0] * 25 + [3] * 25 + [-1] * 25, noise(5, 75), strict=True)]
    assert [one.at_us for one in change_points(daily(values), FIGURES)] == [START + 25 * DAY, START + 50 * DAY]


def test_pettitt_on_a_worked_example() -> None:
    # Ranks 1..10 in order: U_t = t(t + 1) − 11t, largest at t = 5 with |−25|; p = 2·exp(−6·625/1100).
    place, p_value = pettitt(list(range(10)))
    assert (place, p_value) == (5, pytest.approx(0.066, abs=5e-4))
    assert pettitt([1.0] * 10) == (1, 1.0)


def test_mere_noise_is_rarely_taken_for_a_change() -> None:
    alarms = sum(bool(change_points(daily(noise(seed, 40)), FIGURES)) for seed in range(400))
    assert alarms / 400 <= 0.06


def test_a_shift_of_two_deviations_is_mostly_found_close_to_its_place() -> None:
    hits = 0
    for seed in range(200):
        values = [one + (2 if number >= 20 else 0) for number, one in enumerate(noise(seed, 40))]
        hits += any(abs(one.at_us - START - 20 * DAY) <= 3 * DAY for one in change_points(daily(values), FIGURES))
    assert hits / 200 >= 0.85


@pytest.mark.parametrize(("share", "degrees", "expected"), [
    (0.975, 1, 12.7062), (0.975, 2, 4.30265), (0.95, 3, 2.35336), (0.975, 5, 2.57058), (0.95, 10, 1.81246),
    (0.975, 30, 2.04227), (0.995, 8, 3.35539), (0.6, 4, 0.270722), (0.95, 1000, 1.64638),
])  # fmt: skip
def test_quantiles_are_those_of_the_tables(share: float, degrees: int, expected: float) -> None:
    assert student_t(share, degrees) == pytest.approx(expected, rel=2e-5)


def test_a_line_is_predicted_on_its_line() -> None:
    found = predict(daily([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]), START + 7 * DAY, (0, 1), FIGURES)
    assert isinstance(found, Prediction)
    assert (found.value, found.low, found.high) == pytest.approx((0.8, 0.8, 0.8))


def test_nothing_is_predicted_outside_of_the_bounds() -> None:
    found = predict(daily([0.1, 0.3, 0.45, 0.7, 0.9, 0.95]), START + 10 * DAY, (0, 1), FIGURES)
    assert isinstance(found, Prediction)
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_the_interval_holds_the_share_of_futures_it_claims() -> None:
    inside = known = 0
    for seed in range(1000):
        values = [0.5 * number + one for number, one in enumerate(noise(seed, 13))]
        found = predict(daily(values[:10]), START + 12 * DAY, FREE, FIGURES)
        if isinstance(found, Prediction):
            known += 1
            inside += found.low <= values[12] <= found.high
    assert known > 900
    assert 0.88 <= inside / known <= 0.92


def test_only_what_came_after_the_last_change_is_carried_on() -> None:
    values = [5.0, 5.1, 4.9, 5.0, 5.1, 4.9, 5.0, 5.1, 1.0, 1.1, 0.9, 1.0, 1.1, 0.9, 1.0, 1.0]
    found = predict(daily(values), START + 17 * DAY, FREE, FIGURES)
    assert isinstance(found, Prediction)
    assert 0.5 < found.low < 1.0 < found.high < 1.5


@pytest.mark.parametrize(("series", "days", "reason"), [
    ([], 1, "0 values"), (daily([1, 2, 3, 4]), 4, "4 values"), ([Point(START, 1.0)] * 8, 1, "one moment"),
    (daily([1, 2, 3, 4, 5, 6]), 11, "tells no more than"), (daily([1, 2, 3, 4, 5, 6]), -1, "before"),
])  # fmt: skip
def test_where_the_data_are_too_few_it_says_unknown(series: list[Point], days: int, reason: str) -> None:
    found = predict(series, START + days * DAY, FREE, FIGURES)
    assert isinstance(found, Unknown)
    assert reason in found.reason


@given(st.lists(st.tuples(st.integers(0, 50), st.floats(0, 1)), max_size=30), st.integers(-10, 120))
def test_any_series_gives_a_value_within_its_interval_or_a_reason(rows, days: int) -> None:
    found = predict([Point(START + at * DAY, value) for at, value in rows], START + days * DAY, (0, 1), FIGURES)
    if isinstance(found, Prediction):
        assert 0 <= found.low <= found.value <= found.high <= 1
    else:
        assert found.reason

"""Trends of a value over time: slope, volatility, change points.

Change points by the test of Pettitt, "A non-parametric approach to the
change-point problem", Applied Statistics 28 (1979), applied to the whole and
then to both sides of each point found (binary segmentation).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from aico_memory.domain.kinds import DAY_US
from aico_memory.settings.memory_model import EvolutionSettings


class Point(NamedTuple):
    """A value at a moment."""

    at_us: int
    value: float


@dataclass(frozen=True, slots=True)
class Line:
    """The line of least squares; `slope` a day, `deviation` of the residuals (n − 2 degrees of freedom)."""

    slope: float
    mean: float
    mean_day: float
    deviation: float
    squares: float
    points: int

    def value(self, day: float) -> float:
        return self.mean + self.slope * (day - self.mean_day)


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """From `at_us` on the values are others: the level before and after, and the p-value of Pettitt's test."""

    at_us: int
    before: float
    after: float
    p_value: float


@dataclass(frozen=True, slots=True)
class Trend:
    """`slope` a day; `volatility` is the standard deviation about the line, in units of the value."""

    points: int
    slope: float
    volatility: float
    changes: tuple[ChangePoint, ...]


def trend(series: Sequence[Point], figures: EvolutionSettings) -> Trend | None:
    """None where there are too few values, or all of one moment."""
    ordered = sorted(series)
    if len(ordered) < figures.trend_points or ordered[0].at_us == ordered[-1].at_us:
        return None
    line = fitted_line(ordered)
    return Trend(len(ordered), line.slope, line.deviation, change_points(ordered, figures))


def fitted_line(ordered: Sequence[Point]) -> Line:
    """Least squares over days since the first value; at least three values of two moments."""
    days = [(point.at_us - ordered[0].at_us) / DAY_US for point in ordered]
    count = len(ordered)
    mean_day, mean = sum(days) / count, sum(point.value for point in ordered) / count
    squares = sum((day - mean_day) ** 2 for day in days)
    slope = sum((day - mean_day) * (point.value - mean) for day, point in zip(days, ordered, strict=True)) / squares
    line = Line(slope, mean, mean_day, 0.0, squares, count)
    errors = sum((point.value - line.value(day)) ** 2 for day, point in zip(days, ordered, strict=True))
    return Line(slope, mean, mean_day, math.sqrt(errors / (count - 2)), squares, count)


def change_points(ordered: Sequence[Point], figures: EvolutionSettings) -> tuple[ChangePoint, ...]:
    """Where the level changes, in order of time.

    A drift is no change point: a split is reported only where two levels leave
    less error than the line does. Each test has the level of significance by
    itself; it is not corrected for the number of splits.
    """
    values = [point.value for point in ordered]
    place, p_value = pettitt(values)
    fewest = figures.change_segment
    if p_value >= figures.change_significance or not fewest <= place <= len(values) - fewest:
        return ()
    left, right = values[:place], values[place:]
    steps = _error(left) + _error(right)
    if ordered[0].at_us < ordered[-1].at_us and steps >= fitted_line(ordered).deviation ** 2 * (len(values) - 2):
        return ()
    found = ChangePoint(ordered[place].at_us, sum(left) / len(left), sum(right) / len(right), p_value)
    return (*change_points(ordered[:place], figures), found, *change_points(ordered[place:], figures))


def pettitt(values: Sequence[float]) -> tuple[int, float]:
    """Index of the first value after the likeliest change, and p ≈ 2·exp(−6K²/(n³ + n²)), at most 1.

    K = max |U_t|, U_t = 2·Σ_{i≤t} rank_i − t·(n + 1), with mean ranks for ties.
    """
    count = len(values)
    if count < 2:
        return 0, 1.0
    sums = accumulate(_mean_ranks(values))
    statistics = [abs(2 * total - (place + 1) * (count + 1)) for place, total in enumerate(sums)][:-1]
    largest = max(statistics)
    p_value = min(1.0, 2 * math.exp(-6 * largest**2 / (count**3 + count**2)))
    return statistics.index(largest) + 1, p_value


def _mean_ranks(values: Sequence[float]) -> list[float]:
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks, start = [0.0] * len(values), 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for place in order[start:end]:
            ranks[place] = (start + end + 1) / 2
        start = end
    return ranks


def _error(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values)

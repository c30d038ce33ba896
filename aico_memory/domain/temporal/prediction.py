"""Where a value is heading, with an interval; or unknown, and why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from aico_memory.domain.kinds import DAY_US
from aico_memory.domain.temporal.trends import Point, change_points, fitted_line
from aico_memory.settings.memory_model import EvolutionSettings


@dataclass(frozen=True, slots=True)
class Prediction:
    """The value expected at `at_us`; a new observation falls into [low, high] with `coverage`."""

    at_us: int
    value: float
    low: float
    high: float
    coverage: float


@dataclass(frozen=True, slots=True)
class Unknown:
    """No prediction, and the reason."""

    reason: str


def predict(
    series: Sequence[Point], at_us: int, bounds: tuple[float, float], figures: EvolutionSettings
) -> Prediction | Unknown:
    """The line since the last change point, with the prediction interval of a new observation.

    y ± t·s·√(1 + 1/n + (x − x̄)²/Sxx) (Draper & Smith, "Applied Regression Analysis",
    1.4), cut to the bounds of the value. Unknown where the values are too few or
    of one moment, and where the moment lies too far ahead or behind them.
    """
    ordered = sorted(series)
    changes = change_points(ordered, figures)
    if changes:
        ordered = [point for point in ordered if point.at_us >= changes[-1].at_us]
    if len(ordered) < figures.prediction_points:
        return Unknown(f"{len(ordered)} values since the last change; {figures.prediction_points} are needed")
    observed_us = ordered[-1].at_us - ordered[0].at_us
    if not observed_us:
        return Unknown("all values are of one moment")
    if at_us < ordered[0].at_us:
        return Unknown("the moment lies before the values")
    if at_us - ordered[-1].at_us > figures.prediction_horizon * observed_us:
        reach_us = round(figures.prediction_horizon * observed_us)
        return Unknown(
            f"the values span {observed_us / DAY_US:.3g} days, which tells no more than {reach_us / DAY_US:.3g} days ahead"
        )
    line = fitted_line(ordered)
    day = (at_us - ordered[0].at_us) / DAY_US
    spread = line.deviation * math.sqrt(1 + 1 / line.points + (day - line.mean_day) ** 2 / line.squares)
    reach = student_t(0.5 + figures.prediction_coverage / 2, line.points - 2) * spread
    value, low, high = (
        min(max(one, bounds[0]), bounds[1]) for one in (line.value(day), line.value(day) - reach, line.value(day) + reach)
    )
    return Prediction(at_us, value, low, high, figures.prediction_coverage)


def student_t(share: float, degrees: int) -> float:
    """Quantile of Student's t for a share above one half.

    Exact for 1 and 2 degrees of freedom; else G. W. Hill, "Algorithm 396: Student's
    t-quantiles", Communications of the ACM 13 (1970), to about six digits.
    """
    tail = 2 * (1 - share)
    if degrees == 1:
        return math.tan(math.pi / 2 * (1 - tail))
    if degrees == 2:
        return math.sqrt(2 / (tail * (2 - tail)) - 2)
    a = 1 / (degrees - 0.5)
    b = 48 / a**2
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    d = ((94.5 / (b + c) - 3) / b + 1) * math.sqrt(a * math.pi / 2) * degrees
    y = (d * tail) ** (2 / degrees)
    if y > 0.05 + a:
        x = NormalDist().inv_cdf(tail / 2)
        y = x**2
        if degrees < 5:
            c += 0.3 * (degrees - 4.5) * (x + 0.6)
        c = (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b + c
        y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x
        y = math.expm1(a * y**2)
    else:
        y = ((1 / (((degrees + 6) / (degrees * y) - 0.089 * d - 0.822) * (degrees + 2) * 3) + 0.5 / (degrees + 4)) * y - 1) * (
            degrees + 1
        ) / (degrees + 2) + 1 / y
    return math.sqrt(degrees * y)

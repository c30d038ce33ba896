"""Figures of repeated runs."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """Median, smallest and largest of repeated runs."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:,.4g} ({self.low:,.4g}–{self.high:,.4g})"


def spread(values: Sequence[float]) -> Spread:
    """The spread of at least one value."""
    return Spread(statistics.median(values), min(values), max(values))


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` (0..1) of the values lie, nearest rank; 0.0 for no values."""
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

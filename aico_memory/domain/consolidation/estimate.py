"""How long a run will take, from what runs before it took.

A linear model in the two things that cost: experiences to replay, and items
that a phase has to look at. Both rates come from the ledger; before the first
run they are the configured guesses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cost:
    """What one earlier run took for one phase: time at work over all users in seconds, and what it was spent on."""

    phase: str
    seconds: float
    # Experiences for a replay, items held for another phase.
    units: int
    # So many users were at work side by side: their times overlap.
    beside: int = 1


@dataclass(frozen=True, slots=True)
class Rate:
    """Seconds of wall time a unit of one phase; `runs` it was measured on, 0 where it is a guess."""

    phase: str
    seconds: float
    runs: int = 0


def rate_of(phase: str, costs: Sequence[Cost], guess: float) -> Rate:
    """The rate over all earlier runs of this phase that had anything to do."""
    told = [cost for cost in costs if cost.phase == phase and cost.units > 0 and cost.seconds > 0]
    units = sum(cost.units for cost in told)
    if not units:
        return Rate(phase, guess)
    return Rate(phase, sum(cost.seconds / max(1, cost.beside) for cost in told) / units, len(told))


def expected_seconds(rate: Rate, units: int) -> float:
    """Wall time of one phase over all users."""
    return rate.seconds * units

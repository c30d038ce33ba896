"""Utility: how useful a memory has been, between 0 and 1."""

from __future__ import annotations

from aico_memory.settings.memory_model import UtilitySettings


def judged(utility: float, helped: bool, figures: UtilitySettings) -> float:
    """u + 0.1·(target − u), target 1 where its use helped, else 0 (specification 2)."""
    return utility + figures.rate * ((1.0 if helped else 0.0) - utility)


def drifted(utility: float, days: float, figures: UtilitySettings) -> float:
    """0.5 + (u − 0.5)·0.99^days: back to neutral, never past it.

    One day is exactly the step u += 0.01·(0.5 − u) of specification 2; over more
    days the steps are compounded, so that once over a time equals ten times over
    its tenths.
    """
    return float(figures.neutral + (utility - figures.neutral) * (1 - figures.drift_per_day) ** max(days, 0.0))

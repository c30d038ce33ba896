"""Compaction: old outcomes keep id, type, value, outcome and date; the profile has counted them before."""

from __future__ import annotations

from collections.abc import Sequence

from aico_memory.domain.advisor.outcome import Outcome
from aico_memory.settings.outcomes import OutcomeSettings

DAY_US = 86_400_000_000


def is_due(whole: int, stored_bytes: int, oldest_us: int, before_us: int, figures: OutcomeSettings) -> bool:
    """Whether a user's whole outcomes are looked through without waiting for the week: they are many or large, and the oldest
    was decided before the time up to which they are compacted.
    """
    return oldest_us < before_us and (whole > figures.compact_after or stored_bytes > figures.compact_bytes)


def border_us(now_us: int, figures: OutcomeSettings) -> int:
    """What was decided before this time is compacted."""
    return now_us - figures.keep_days * DAY_US


def to_compact(outcomes: Sequence[Outcome], before_us: int) -> list[Outcome]:
    """The whole ones that were decided before that time."""
    return [one for one in outcomes if not one.compacted and one.decided_us < before_us]


def saved(before: int, after: int) -> float:
    """Share of the tokens that is gone, 0..1."""
    return 1 - after / before if before else 0.0

"""What the week's look at change finds: trends and change points of what was stated, told in one line without its words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from aico_memory.clock import from_us
from aico_memory.domain.kinds import DAY_US
from aico_memory.domain.temporal.trends import Point, Trend, trend
from aico_memory.settings.memory_model import EvolutionSettings

# Under this name the finding stands among the changes of an item.
TREND: Final = "trend"
# A slope counts where it moves the value, over the time that was observed, by more than this times its scatter.
_CLEAR: Final = 2.0


class Finding(NamedTuple):
    """The trend of one fact, and how it is told."""

    direction: str
    told: str
    changes: int


def found(series: Sequence[Point], figures: EvolutionSettings) -> Finding | None:
    """None where the values are too few to say anything."""
    seen = trend(series, figures)
    if seen is None:
        return None
    ordered = sorted(series)
    days = (ordered[-1].at_us - ordered[0].at_us) / DAY_US
    direction = _direction(seen, days)
    told = f"{direction}: {seen.slope:+.4g} a day over {seen.points} values, scatter {seen.volatility:.4g}"
    for change in seen.changes:
        told += f"; from {from_us(change.at_us).date()} on {change.after:.4g} instead of {change.before:.4g}"
    return Finding(direction, told, len(seen.changes))


def _direction(seen: Trend, days: float) -> str:
    moved = seen.slope * days
    if abs(moved) <= _CLEAR * seen.volatility or moved == 0:
        return "steady"
    return "rising" if moved > 0 else "falling"

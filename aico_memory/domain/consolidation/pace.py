"""How large the next batch of a replay is, by how long the last one took.

A batch holds up whatever is said meanwhile. What is stored does not depend on
how an order of experiences is cut: the size may vary, the memories may not.
"""

from __future__ import annotations

from dataclasses import dataclass

# One slow batch (a cold model, a busy machine) changes the size by no more than this.
LARGEST_CHANGE = 2.0


@dataclass(frozen=True, slots=True)
class Pace:
    """Sizes in experiences; `seconds` is what a batch should take."""

    first: int = 100
    least: int = 10
    most: int = 500
    seconds: float = 2.0


def next_size(pace: Pace, last_size: int, last_seconds: float) -> int:
    """The size of the next batch: in proportion to the wished time, within bounds.

    `last_size` 0: there was none. A time that was not measured (a clock that stands still) changes nothing.
    """
    if last_size <= 0:
        return pace.first
    if last_seconds <= 0:
        return last_size
    factor = min(LARGEST_CHANGE, max(1.0 / LARGEST_CHANGE, pace.seconds / last_seconds))
    return min(pace.most, max(min(pace.least, pace.first), round(last_size * factor)))

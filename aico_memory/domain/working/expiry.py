"""When an experience leaves working memory.

Nothing goes before consolidation has acknowledged it, except at the hard cap,
where what goes unreplayed is counted and named. Time runs from receipt, never
from the time that a message claims.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

HOUR_US = 3_600_000_000


@dataclass(frozen=True, slots=True)
class Retention:
    """How long experiences stay, in microseconds; the cap is at least the time to live."""

    time_to_live_us: int = 24 * HOUR_US
    hard_cap_us: int = 14 * 24 * HOUR_US

    def __post_init__(self) -> None:
        if not 0 <= self.time_to_live_us <= self.hard_cap_us:
            raise ValueError("The hard cap must not lie before the time to live")


class Fate(Enum):
    """What a sweep does with one experience."""

    STAYS = "stays"
    EXPIRES = "expires"
    EXPIRES_UNREPLAYED = "expires unreplayed"


@dataclass(frozen=True, slots=True)
class SweepBounds:
    """A sweep as two ranges over receipt times, both inclusive: what a store scans."""

    acknowledged_until_us: int
    any_until_us: int


def fate(received_us: int, acknowledged: bool, now_us: int, retention: Retention) -> Fate:
    """What becomes of one experience at `now_us`; an age of exactly the limit is past it."""
    age = now_us - received_us
    if acknowledged:
        return Fate.EXPIRES if age >= retention.time_to_live_us else Fate.STAYS
    return Fate.EXPIRES_UNREPLAYED if age >= retention.hard_cap_us else Fate.STAYS


def sweep_bounds(now_us: int, retention: Retention) -> SweepBounds:
    """The same rule for all experiences at once."""
    return SweepBounds(now_us - retention.time_to_live_us, now_us - retention.hard_cap_us)

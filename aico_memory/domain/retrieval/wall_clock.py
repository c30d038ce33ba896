"""What the clock on the wall of a zone shows, for many moments at once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from aico_memory.domain.formation.claimed_time import zone_of

Moments = npt.NDArray[np.int64]
_DAY_US = 86_400_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Days for which a calendar knows the clocks: from 1900 to 2200.
_FIRST, _LAST = -25_567, 84_006


def wall_clock(moments_us: Moments, zone: str) -> Moments:
    """Unix microseconds moved by the zone's distance from UTC at each of them; an unknown zone is UTC.

    The distance is looked up at both ends of each day, and for single moments only where the clocks change between.
    """
    known = zone_of(zone)
    if known.key == "UTC" or not len(moments_us):
        return moments_us
    days, place = np.unique(np.clip(moments_us // _DAY_US, _FIRST, _LAST), return_inverse=True)
    begins = np.array([_distance_us(int(day) * _DAY_US, known) for day in days], dtype=np.int64)
    ends = np.array([_distance_us((int(day) + 1) * _DAY_US, known) for day in days], dtype=np.int64)
    distance = begins[place]
    for row in np.flatnonzero((begins != ends)[place]):
        distance[row] = _distance_us(int(moments_us[row]), known)
    return moments_us + distance


def _distance_us(at_us: int, zone: ZoneInfo) -> int:
    distance = (_EPOCH + timedelta(microseconds=at_us)).astimezone(zone).utcoffset() or timedelta()
    return distance // timedelta(microseconds=1)

"""Time as an argument: the system's clock, and one that a test or an operator turns by hand.

All times inside are aware UTC datetimes or Unix microseconds (int); text is
ISO 8601 with zone.
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Protocol
from zoneinfo import ZoneInfo

from aico_memory.errors import InvalidMessage, NaiveTime

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ZONE_MEND = "Give a zone such as Europe/Lisbon."
# As many as there are, and some that are none.
_ZONES = 1024
_MICROSECOND = timedelta(microseconds=1)
_CELL = struct.Struct("<q")


class Clock(Protocol):
    """What every process asks for the time."""

    def now(self) -> datetime:
        """The time, aware, UTC."""

    def now_us(self) -> int:
        """The time as Unix microseconds."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def now_us(self) -> int:
        return time.time_ns() // 1000


class FixedClock:
    """A clock in memory that moves only when it is told to."""

    def __init__(self, start: datetime) -> None:
        self._now = require_zone(start)

    def now(self) -> datetime:
        return self._now

    def now_us(self) -> int:
        return to_us(self._now)

    def set(self, moment: datetime) -> None:
        self._now = require_zone(moment)

    def advance(self, by: timedelta) -> None:
        self._now += by


class SharedManualClock:
    """A clock in an eight-byte file that drives every process of a development deployment."""

    def __init__(self, path: Path, start: datetime | None = None) -> None:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            first = to_us(start) if start is not None else time.time_ns() // 1000
            temporary = path.with_suffix(f".{os.getpid()}")
            temporary.write_bytes(_CELL.pack(first))
            temporary.replace(path)
        with path.open("r+b") as file:
            self._cell = mmap.mmap(file.fileno(), _CELL.size)

    def now_us(self) -> int:
        return int(_CELL.unpack_from(self._cell, 0)[0])

    def now(self) -> datetime:
        return from_us(self.now_us())

    def set(self, moment: datetime) -> None:
        _CELL.pack_into(self._cell, 0, to_us(moment))
        self._cell.flush()

    def advance(self, by: timedelta) -> None:
        self.set(self.now() + by)

    def close(self) -> None:
        self._cell.close()


def require_zone(moment: datetime) -> datetime:
    """The moment in UTC; NaiveTime where it has no zone."""
    if moment.tzinfo is None or moment.utcoffset() is None:
        raise NaiveTime(f"The time {moment.isoformat()} has no zone")
    return moment.astimezone(UTC)


@lru_cache(_ZONES)
def is_zone(name: str) -> bool:
    """Whether this is the name of an IANA zone that this machine knows."""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return True


def to_us(moment: datetime) -> int:
    """Unix microseconds of an aware datetime, exact."""
    return (require_zone(moment) - EPOCH) // _MICROSECOND


def from_us(microseconds: int) -> datetime:
    """Aware UTC datetime of Unix microseconds."""
    return EPOCH + timedelta(microseconds=microseconds)


def parse_time(text: str) -> datetime:
    """An ISO 8601 time with zone; NaiveTime without, InvalidMessage where it is no time."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidMessage(f"{text!r} is no ISO 8601 time", "Write it like 2026-01-31T18:00:00+01:00.") from error
    return require_zone(moment)


def format_time(moment: datetime) -> str:
    """ISO 8601 in UTC with zone."""
    return require_zone(moment).isoformat()


def format_us(microseconds: int) -> str | None:
    """ISO 8601 of Unix microseconds; None for 0, which the contracts use for `none`."""
    return None if microseconds == 0 else from_us(microseconds).isoformat()

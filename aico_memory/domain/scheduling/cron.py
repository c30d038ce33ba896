"""Five-field cron in a time zone: croniter on the naive wall clock, the zone's rules here.

croniter alone fires a 02:00 job twice on the autumn night, so it never sees a
zone. A wall time maps to one instant: one that occurs twice (the clock goes
back) to its first occurrence, one that never occurs (the clock goes forward)
to the moment right after the gap, where all skipped firings fall together into one.
That map never decreases, which is what makes the searches below correct.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from croniter import croniter
from croniter.croniter import CroniterError

from aico_memory.errors import InvalidMessage

# Numbers, names, ranges and steps; croniter's hashed, random and last-day extensions are not cron.
_FIELD = re.compile(r"(\*|\d+(-\d+)?|[a-z]{3}(-[a-z]{3})?)(/\d+)?(,(\*|\d+(-\d+)?|[a-z]{3}(-[a-z]{3})?)(/\d+)?)*")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAMES = frozenset((*_MONTHS, "sun", "mon", "tue", "wed", "thu", "fri", "sat"))
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Cron:
    """A checked five-field expression (minute hour day month weekday; 0 and 7 are Sunday) in a zone."""

    expression: str
    zone: ZoneInfo


def parse_cron(expression: str, zone: ZoneInfo) -> Cron:
    """The expression, checked; InvalidMessage where it is no five-field cron or can never fire."""
    fields = expression.lower().split()
    if len(fields) != 5:
        raise InvalidMessage(f"{expression!r} has {len(fields)} fields instead of five (minute hour day month weekday)")
    for field in fields:
        if not _FIELD.fullmatch(field) or not set(re.findall(r"[a-z]+", field)) <= _NAMES:
            raise InvalidMessage(f"{field!r} in {expression!r} is no cron field")
    text = " ".join(fields)
    try:
        croniter(text, datetime(2024, 1, 1)).get_next(datetime)
    except CroniterError as error:
        raise InvalidMessage(f"{expression!r} never fires: {error}") from error
    return Cron(text, zone)


def instant_of(wall: datetime, zone: ZoneInfo) -> datetime:
    """The one UTC instant at which a naive wall time counts in this zone."""
    instant = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if instant.astimezone(zone).replace(tzinfo=None) == wall:
        return instant
    return _gap_end(wall.replace(tzinfo=zone, fold=1).astimezone(UTC), instant, zone)


def next_firing(cron: Cron, after: datetime) -> datetime:
    """The first firing strictly after an instant, UTC."""
    return next(_firings(cron, after))


def due(cron: Cron, after: datetime, until: datetime, limit: int | None = None) -> list[datetime]:
    """The firings in (after, until], oldest first, at most `limit` of them."""
    found: list[datetime] = []
    for instant in _firings(cron, after):
        if instant > until or (limit is not None and len(found) >= limit):
            break
        found.append(instant)
    return found


def latest_due(cron: Cron, after: datetime, until: datetime) -> datetime | None:
    """The last firing in (after, until], found from the end: cheap however long the interval is."""
    local = until.astimezone(cron.zone)
    # Inside a doubled hour's second pass, wall times up to the hour's end have already counted.
    passed = _offset(local.replace(fold=0)) - _offset(local.replace(fold=1))
    start = local.replace(tzinfo=None) + max(passed, timedelta(0)) + _SECOND
    walls = croniter(cron.expression, start)
    while True:
        try:
            instant = instant_of(walls.get_prev(datetime), cron.zone)
        except CroniterError:
            return None
        if instant <= until:
            return instant if instant > after else None


def _firings(cron: Cron, after: datetime) -> Iterator[datetime]:
    walls = croniter(cron.expression, after.astimezone(cron.zone).replace(tzinfo=None))
    last = after.astimezone(UTC)
    while True:
        instant = instant_of(walls.get_next(datetime), cron.zone)
        if instant > last:
            last = instant
            yield instant


def _gap_end(before: datetime, beyond: datetime, zone: ZoneInfo) -> datetime:
    """The instant in (before, beyond] at which the zone's offset changes, to the second."""
    offset = _offset(before.astimezone(zone))
    low, high = 0, int((beyond - before) / _SECOND)
    while high - low > 1:
        middle = (low + high) // 2
        if _offset((before + middle * _SECOND).astimezone(zone)) == offset:
            low = middle
        else:
            high = middle
    return before + high * _SECOND


def _offset(moment: datetime) -> timedelta:
    return moment.utcoffset() or timedelta(0)

"""Dates in a message: which phrases speak of time, and which interval [from, until) they name.

Everything is resolved against the moment of the message in the speaker's zone; nothing reads a
clock. Calendar dates are read by `dateparser`; weekdays, months and named spans are plain
calendar arithmetic here, because the library gives one moment where an interval is needed.

"Until" a day includes that day (until Friday ends when Friday ends); "until" a longer span ends
where the span begins (until March ends with February; what is still so in March ends with March). "Since" a span starts
where it starts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import dateparser
from dateutil.easter import easter
from dateutil.relativedelta import relativedelta

from aico_memory.domain.formation.grammar import Calendar
from aico_memory.domain.formation.time_forms import expressions
from aico_memory.domain.memory import OPEN

# "the 20th", "20."
_DAY_ALONE = re.compile(r"(?:the )?(\d{1,2})(?:\.|st|nd|rd|th)")
# What recurs: it has neither beginning nor end.
HABIT = "habit"
DAY, WEEK, MONTH, YEAR = "day", "week", "month", "year"
# No day is longer, not even one of 25 hours on which the clocks go back.
LONGEST_DAY_US = 26 * 3_600_000_000
# Months of a season.
_SEASON = 3


@dataclass(frozen=True, slots=True)
class TimePhrase:
    """A phrase of time at a place of the text, resolved for what is past and for what is to come."""

    start: int
    end: int
    # since | from | until | held (for so long, up to now) | lasting (for so long, from now) | ago | ahead | at
    kind: str
    phrase: str
    past: tuple[int, int]
    future: tuple[int, int]

    def bounds(self, past: bool) -> tuple[int, int]:
        """The interval named: a validity for since, from, until, held and lasting; else the span itself."""
        return self.past if past else self.future


def to_us(moment: datetime) -> int:
    """Unix microseconds of an aware moment, exact (by the wall clock of its zone where the clocks change)."""
    delta = moment.astimezone(ZoneInfo("UTC")) - datetime(1970, 1, 1, tzinfo=ZoneInfo("UTC"))
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def from_us(at_us: int, zone: str) -> datetime:
    """The wall clock of the zone at that moment."""
    return (datetime(1970, 1, 1, tzinfo=ZoneInfo("UTC")) + timedelta(microseconds=at_us)).astimezone(ZoneInfo(zone or "UTC"))


def day_of(at_us: int, zone: str) -> tuple[int, int]:
    """The day of the zone in which that moment is, from midnight to midnight."""
    start = _midnight(from_us(at_us, zone))
    return to_us(start), to_us(start + timedelta(days=1))


def find_times(lowered: str, calendar: Calendar, language: str, said_at_us: int, zone: str) -> list[TimePhrase]:
    """Phrases of time in a lower-case text, in order, none overlapping."""
    if not _has_cue(lowered, calendar):
        return []
    said = from_us(said_at_us, zone)
    found: list[TimePhrase] = []
    for kind, expression in expressions(calendar):
        for match in expression.finditer(lowered):
            if any(match.start() < other.end and other.start < match.end() for other in found):
                continue
            try:
                phrase = _resolved(kind, match, calendar, language, said)
            except (OverflowError, ValueError):
                # "99999 years ago": no calendar reaches there.
                phrase = None
            if phrase is not None:
                found.append(phrase)
    return sorted(found, key=lambda phrase: phrase.start)


def _has_cue(lowered: str, calendar: Calendar) -> bool:
    return any(letter.isdigit() for letter in lowered) or any(cue in lowered for cue in calendar.cues)


def _resolved(kind: str, match: re.Match[str], calendar: Calendar, language: str, said: datetime) -> TimePhrase | None:
    parts = match.groupdict()
    now = to_us(said)
    if kind in ("held", "lasting", "ago", "ahead") and not parts.get("season"):
        count = _number(parts.get("n") or "1", calendar)
        unit = calendar.units[parts["u"]]
        if count is None:
            return None
        sign = -1 if kind in ("held", "ago") else 1
        moment = _shifted(said, unit, sign * count)
        if kind == "held":
            spans = ((to_us(_midnight(moment)) if unit != "hour" else to_us(moment), OPEN),) * 2
        elif kind == "lasting":
            spans = ((now, to_us(_midnight(moment + timedelta(days=1))) if unit != "hour" else to_us(moment)),) * 2
        else:
            spans = (_span_of(moment, DAY if unit in ("day", "week", "hour") else unit),) * 2
        return TimePhrase(match.start(), match.end(), kind, match.group(), *spans)
    spans_of = [_date(parts, calendar, language, said, past) for past in (True, False)]
    if spans_of[0] is None or spans_of[1] is None:
        return None
    past, future = spans_of[0], spans_of[1]
    if kind == "since":
        return TimePhrase(match.start(), match.end(), kind, match.group(), (past[0], OPEN), (past[0], OPEN))
    if kind == "from":
        return TimePhrase(match.start(), match.end(), kind, match.group(), (past[0], OPEN), (future[0], OPEN))
    if kind == "until":
        edge = bool(parts.get("edge"))
        # Who is there "until May" in May stays to its end.
        running = future[0] <= now < future[1]
        ends = _end_named(past, edge), _end_named(future, edge or running)
        return TimePhrase(match.start(), match.end(), kind, match.group(), (0, ends[0]), (0, ends[1]))
    return TimePhrase(match.start(), match.end(), kind, match.group(), past, future)


def _end_named(span: tuple[int, int], through: bool) -> int:
    """Where what lasts until a span ends: with a day and with what is told to be gone `through`, else where it begins."""
    return span[1] if through or span[1] - span[0] <= LONGEST_DAY_US else span[0]


def _date(
    parts: dict[str, str | None], calendar: Calendar, language: str, said: datetime, past: bool
) -> tuple[int, int] | None:
    """The interval of a date phrase, read as past or as to come."""
    span = _plain_date(parts, calendar, language, said, past)
    edge = parts.get("edge")
    if span is None or not edge:
        return span
    zone = said.tzinfo
    start = datetime.fromtimestamp(span[0] / 1e6, zone)
    end = datetime.fromtimestamp(span[1] / 1e6, zone)
    if edge in calendar.forms.get("end_words", ()):
        return to_us(_midnight(end - timedelta(days=1))), span[1]
    if edge in calendar.forms.get("middle_words", ()):
        return _span_of(_midnight(start + (end - start) / 2), DAY)
    return _span_of(start, DAY)


def _plain_date(
    parts: dict[str, str | None], calendar: Calendar, language: str, said: datetime, past: bool
) -> tuple[int, int] | None:
    step_word = parts.get("step_day") or parts.get("step_month") or parts.get("step_unit") or parts.get("step_season")
    step = calendar.steps.get(step_word) if step_word else None
    if exact := parts.get("exact"):
        moment = _calendar_date(exact, language, said.replace(tzinfo=None), past)
        return _span_of(moment.replace(tzinfo=said.tzinfo), DAY) if moment else None
    if day := parts.get("day"):
        return _span_of(_midnight(said + timedelta(days=calendar.days[day])), DAY)
    if weekday := parts.get("weekday"):
        return _span_of(_weekday(said, calendar.weekdays[weekday], step, past), DAY)
    if month := parts.get("month"):
        year = parts.get("year_of")
        return _span_of(_month(said, calendar.months[month], int(year) if year else None, step, past), MONTH)
    if holiday := parts.get("holiday"):
        return _span_of(_nearest_holiday(said, calendar.holidays[holiday], past), DAY)
    if season := parts.get("season"):
        return _season(said, calendar.seasons[season], step, past)
    if unit_word := parts.get("unit"):
        unit = calendar.units[unit_word]
        if unit == "hour":
            return None
        return _span_of(_shifted(said, WEEK if unit == "weekend" else unit, step or 0), unit)
    if (bare := parts.get("bare")) and parts.get("edge") and calendar.units[bare] != "hour":
        return _span_of(said, calendar.units[bare])
    if parts.get("weekend"):
        back = 7 if past and said.weekday() < 5 else 0
        return _span_of(said - timedelta(days=back), "weekend")
    if year_word := parts.get("year"):
        return _span_of(datetime(int(year_word), 1, 1, tzinfo=said.tzinfo), YEAR)
    return None


def _weekday(said: datetime, weekday: int, step: int | None, past: bool) -> datetime:
    ahead = (weekday - said.weekday()) % 7
    if step == -1 or (step is None and past):
        # The most recent one; today counts unless "last" is said.
        back = (said.weekday() - weekday) % 7
        return _midnight(said - timedelta(days=back or (7 if step == -1 else 0)))
    if step == 1 and ahead == 0:
        ahead = 7
    return _midnight(said + timedelta(days=ahead))


def _month(said: datetime, month: int, year: int | None, step: int | None, past: bool) -> datetime:
    if year is None:
        year = said.year
        if (step == -1 and month >= said.month) or (step is None and past and month > said.month):
            year -= 1
        elif (step == 1 and month <= said.month) or (step is None and not past and month < said.month):
            year += 1
    return datetime(year, month, 1, tzinfo=said.tzinfo)


def _season(said: datetime, month: int, step: int | None, past: bool) -> tuple[int, int]:
    """Three months from the first of `month`: the one that runs or comes next, or the newest that has begun where it is told
    as past; "next" and "last" leave out the one that runs."""
    first = _midnight(said).replace(month=month, day=1)
    runs = [
        (start, start + relativedelta(months=_SEASON))
        for start in (first + relativedelta(years=year) for year in (-2, -1, 0, 1))
    ]
    if step == 1:
        found = next(one for one in runs if one[0] > said)
    elif step == -1:
        found = next(one for one in reversed(runs) if one[1] <= said)
    elif past:
        found = next(one for one in reversed(runs) if one[0] <= said)
    else:
        found = next(one for one in runs if one[1] > said)
    return to_us(found[0]), to_us(found[1])


def _nearest_holiday(said: datetime, holiday: tuple[int, int], past: bool) -> datetime:
    """The newest one that has come, or the next; today counts. Easter by the western calendar."""
    month, day = holiday
    days = [
        datetime(year, month, day, tzinfo=said.tzinfo)
        if month
        else datetime.combine(easter(year) + timedelta(days=day), time(), said.tzinfo)
        for year in range(said.year - 1, said.year + 2)
    ]
    today = _midnight(said)
    return max(one for one in days if one <= today) if past else min(one for one in days if one >= today)


def _shifted(moment: datetime, unit: str, count: int) -> datetime:
    if unit == "month":
        return moment + relativedelta(months=count)
    if unit == "year":
        return moment + relativedelta(years=count)
    if unit == "hour":
        return moment + timedelta(hours=count)
    return moment + timedelta(days=count * (7 if unit in (WEEK, "weekend") else 1))


def _span_of(moment: datetime, unit: str) -> tuple[int, int]:
    start = _midnight(moment)
    if unit == WEEK:
        start -= timedelta(days=start.weekday())
        end = start + timedelta(days=7)
    elif unit == "weekend":
        start += timedelta(days=5 - start.weekday())
        end = start + timedelta(days=2)
    elif unit == MONTH:
        start = start.replace(day=1)
        end = start + relativedelta(months=1)
    elif unit == YEAR:
        start = start.replace(month=1, day=1)
        end = start + relativedelta(years=1)
    else:
        end = start + timedelta(days=1)
    return to_us(start), to_us(end)


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _number(word: str, calendar: Calendar) -> int | None:
    return int(word) if word.isdigit() else calendar.numbers.get(word)


@lru_cache(maxsize=4096)
def _calendar_date(phrase: str, language: str, base: datetime, past: bool) -> datetime | None:
    if bare := _DAY_ALONE.fullmatch(phrase):
        return _day_of_month(int(bare[1]), base, past)
    settings = {
        "RELATIVE_BASE": base,
        "PREFER_DATES_FROM": "past" if past else "future",
        "DATE_ORDER": "DMY",
        "RETURN_AS_TIMEZONE_AWARE": False,
        "TIMEZONE": "UTC",
        "PARSERS": ["absolute-time"],
    }
    return dateparser.parse(phrase, languages=[language], settings=settings)


def _day_of_month(day: int, base: datetime, past: bool) -> datetime | None:
    """The nearest such day of a month before or after (today counts)."""
    for months in range(3):
        moment = base.replace(day=1) + relativedelta(months=-months if past else months)
        try:
            found = moment.replace(day=day)
        except ValueError:
            continue
        if (found.date() <= base.date()) if past else (found.date() >= base.date()):
            return found
    return None

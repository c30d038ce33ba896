"""Dates that a language model gives: only with words of the message, and by the rules' calendar where they read them."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.prompting import Told
from aico_memory.domain.formation.when import find_times, to_us
from aico_memory.domain.formation.wording import even, lower_in, squeeze
from aico_memory.domain.memory import OPEN

_DAY_US: Final = 86_400_000_000
# A plan without an end is looked after for a week.
_PLAN_US: Final = 7 * _DAY_US
_FARTHEST_US: Final = 200 * 366 * _DAY_US


class Validity(NamedTuple):
    """[from, until) in Unix microseconds; OPEN without an end."""

    from_us: int
    until_us: int


class Disagrees(NamedTuple):
    """A date that is not taken, and by which rule."""

    rule: str
    reason: str


def claimed_validity(
    valid_from: str | None, valid_until: str | None, time_words: str | None, told: Told, grammar: Grammar | None, kind: str
) -> Validity | Disagrees:
    """The validity of a claim. Where the rules read the quoted words of time, their bounds stand and not the model's.

    Language models are poor at calendars: "next Friday" is arithmetic. Of the readings for what is past and what is
    to come, the one nearer to the model's own dates is meant.
    """
    said_us = told.said_at_us
    fallback = said_us + _PLAN_US if kind == "plan" else OPEN
    if not valid_from and not valid_until:
        return Validity(said_us, fallback)
    if not time_words or not _in_message(time_words, told):
        return Disagrees("date_without_words", "A date is given for which the message has no words")
    zone = zone_of(told.zone)
    try:
        from_us = _moment(valid_from, zone, 0) if valid_from else said_us
        until_us = _moment(valid_until, zone, 1) if valid_until else fallback
    except ValueError:
        return Disagrees("date_unreadable", "A date is not ISO 8601")
    ruled = _by_rules(from_us, until_us, time_words, told, grammar)
    if ruled is not None:
        # Only the bounds that the model gives: "I moved on Friday" does not end with Friday.
        from_us = ruled[0] if valid_from and ruled[0] > 0 else from_us
        until_us = ruled[1] if valid_until and ruled[1] < OPEN else until_us
    if not from_us < until_us:
        return Disagrees("date_order", "It ends before it begins")
    if any(abs(one - said_us) > _FARTHEST_US for one in (from_us, until_us) if one < OPEN):
        return Disagrees("date_too_far", "A date lies centuries away")
    return Validity(from_us, until_us)


def zone_of(name: str) -> ZoneInfo:
    """The zone of that name; UTC where there is none."""
    try:
        return ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")


def _by_rules(from_us: int, until_us: int, words: str, told: Told, grammar: Grammar | None) -> tuple[int, int] | None:
    """The one phrase of time as the rules read it; None where they read none, or several."""
    if grammar is None:
        return None
    lowered = lower_in(squeeze(even(words)), grammar.code)
    found = find_times(lowered, grammar.calendar, grammar.code, told.said_at_us, zone_of(told.zone).key)
    if len(found) != 1:
        return None
    readings = (found[0].past, found[0].future)
    return min(readings, key=lambda one: min(abs(one[0] - from_us), abs(one[1] - until_us)))


def _in_message(words: str, told: Told) -> bool:
    quoted = squeeze(even(words).casefold())
    return bool(quoted) and quoted in squeeze(even(told.text).casefold())


def _moment(text: str, zone: ZoneInfo, days_more: int) -> int:
    """A moment as it stands; of a day its beginning, or (with `days_more` 1) its end. Raises ValueError."""
    if len(text) <= 10:
        day = date.fromisoformat(text if len(text) == 10 else text + "-01" * ((10 - len(text)) // 3))
        return _checked(datetime.combine(day + timedelta(days=days_more), time(), zone))
    moment = datetime.fromisoformat(text)
    return _checked(moment if moment.tzinfo else moment.replace(tzinfo=zone))


def _checked(moment: datetime) -> int:
    try:
        return to_us(moment)
    except OverflowError as error:
        raise ValueError(str(error)) from error

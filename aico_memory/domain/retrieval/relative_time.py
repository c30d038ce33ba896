"""Dates that a question names from where it stands ("last week", "vorgestern", "geçen ay"), by the rules of formation."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import NamedTuple

from aico_memory.domain.formation.claimed_time import zone_of
from aico_memory.domain.formation.grammar import Calendar
from aico_memory.domain.formation.when import WEEK, TimePhrase, find_times, from_us, to_us
from aico_memory.domain.formation.wording import lower_in
from aico_memory.domain.memory import OPEN

_SPANS = frozenset({"at", "ago", "since"})
# The days beside the middle of a week.
_BESIDE_US = 3 * 86_400_000_000


class AskedAt(NamedTuple):
    """The moment of a question, in Unix microseconds, and the IANA zone of its dates; "" is UTC."""

    at_us: int = 0
    zone: str = ""


class Named(NamedTuple):
    """What a question says of time."""

    # The interval [from, until) in Unix microseconds that is over or reaches up to now; (0, 0) where it names none.
    span: tuple[int, int] = (0, 0)
    # When its words mean another time; 0 where it has none of time.
    turns_us: int = 0
    # These words, lower case.
    phrases: tuple[str, ...] = ()


NOTHING = Named()


def named_time(question: str, language: str, calendars: Mapping[str, Calendar], asked: AskedAt) -> Named:
    """The past that the question names, in its language or else in any other with a calendar; nothing if not `asked.at_us`.

    Only what means the same whether it was or is to come: "on Monday" may be the next one. Of several the first counts.
    """
    if not asked.at_us:
        return NOTHING
    zone = zone_of(asked.zone).key
    # Short questions are often taken for the language of their scope.
    for code in sorted(calendars, key=lambda one: one != language):
        phrases = find_times(lower_in(question, code), calendars[code], code, asked.at_us, zone)
        if phrases:
            midnight = from_us(asked.at_us, zone).replace(hour=0, minute=0, second=0, microsecond=0)
            spans = (span for phrase in phrases if (span := _over(phrase, calendars[code], asked.at_us)) is not None)
            said = tuple(phrase.phrase for phrase in phrases)
            return Named(next(spans, (0, 0)), to_us(midnight + timedelta(days=1)), said)
    return NOTHING


def _over(phrase: TimePhrase, calendar: Calendar, asked_us: int) -> tuple[int, int] | None:
    if phrase.kind not in _SPANS or phrase.past != phrase.future:
        return None
    start, end = phrase.past
    if phrase.kind == "ago" and any(calendar.units.get(word) == WEEK for word in phrase.phrase.split()):
        # Who asks for two weeks ago means no single day.
        start, end = start - _BESIDE_US, end + _BESIDE_US
    if end == OPEN:
        end = asked_us + 1
    return (start, end) if 0 < start < end <= asked_us + 1 else None

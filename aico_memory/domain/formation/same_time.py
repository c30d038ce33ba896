"""Whether two values are times of the same sort: of the clock, or of the calendar."""

from __future__ import annotations

import re
from collections.abc import Mapping

from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.wording import lower_in, trim

CLOCK, DAY = "clock", "day"
# What stands beside a time, and what makes an hour of a number ("half past", "Uhr").
BESIDE, BESIDE_HOUR = "beside", "beside hour"
_HOUR = re.compile(r"\d{1,2}(?:[:.]\d\d)?(?:am|pm|h)|\d{1,2}[:.]\d\d")
_ORDINAL = re.compile(r"\d{1,2}(?:st|nd|rd|th|\.)|\d{1,2}[./-]\d{1,2}(?:[./-](?:\d{4}|\d\d)?)?|\d{4}-\d\d-\d\d")
_FIGURE = re.compile(r"\d{1,2}|(?:1[89]|20)\d\d")
# Turkish nouns carry their case: letters behind a word that is known.
_CASE = 4
_LEAST = 3


def is_time(value: str, grammar: Grammar) -> bool:
    """Nothing but words of time, and one that names a time by itself."""
    return bool(_sorts(value, grammar) - {""})


def same_time(old: str, value: str, grammar: Grammar) -> bool:
    """Whether the second names a time as the first does: a day for a day, an hour for an hour; a number alone for a number."""
    was, now = _sorts(old, grammar), _sorts(value, grammar)
    if not now:
        return False
    if now == {""}:
        return all(any(letter.isdigit() for letter in one) for one in (old, value))
    return bool(was & now) or was <= {""}


def _sorts(value: str, grammar: Grammar) -> set[str]:
    """The sorts of time that the value names, "" for a number alone; empty where a word is not of time."""
    low = lower_in(value, grammar.code)
    found: set[str] = set()
    for phrase in sorted((one for one in grammar.calendar.days if one in low), key=len, reverse=True):
        if re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", low):
            low = re.sub(rf"(?<!\w){re.escape(phrase)}(?!\w)", " ", low)
            found.add(DAY)
    for spelled in low.split():
        word = spelled.strip(",;!?\"'()").split("'")[0] if grammar.parser == "turkish" else spelled.strip(",;!?\"'()")
        sort = _sort(word, grammar)
        if sort is None:
            return set()
        found.add(sort)
    if "" in found and BESIDE_HOUR in found:
        found.add(CLOCK)
    found -= {BESIDE, BESIDE_HOUR}
    return found - {""} or found


def _sort(word: str, grammar: Grammar) -> str | None:
    """What a word says of a time: a day, an hour, a number, or stands beside one; None: it is of no time."""
    calendar = grammar.calendar
    if _HOUR.fullmatch(word) or word in grammar.words["clock_names"]:
        return CLOCK
    if _ORDINAL.fullmatch(word):
        return DAY
    if _FIGURE.fullmatch(word) or word in calendar.numbers:
        return ""
    plain = trim(word)
    if plain in grammar.words["clock_words"]:
        return BESIDE_HOUR
    days: tuple[Mapping[str, object], ...] = (calendar.weekdays, calendar.months, calendar.seasons, calendar.holidays)
    if any(_is_form(plain, known, grammar) for known in days):
        return DAY
    beside = grammar.words["time_words"] | calendar.steps.keys() | calendar.units.keys()
    if _is_form(plain, beside, grammar) or plain in grammar.words["determiners"]:
        return BESIDE
    return None


def _is_form(word: str, known: Mapping[str, object] | frozenset[str] | set[str], grammar: Grammar) -> bool:
    """Whether the word is known, in plural or, in Turkish, with its case."""
    if word in known or word.removesuffix("s") in known:
        return True
    return grammar.parser == "turkish" and any(
        word.startswith(one) and len(word) - len(one) <= _CASE for one in known if len(one) >= _LEAST
    )

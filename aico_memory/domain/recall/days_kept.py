"""Times of what comes again, of which a part changes: a day falls away, the hour is another one."""

from __future__ import annotations

import re
from dataclasses import replace

from aico_memory.domain.formation.attributes import TIME
from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.formation.formed import FormedFact

# Between the days of a list.
_LISTED = re.compile(r",? (?:and|und|ve|&) |, ")
# A clock time and nothing else: "19 Uhr", "7:30", "7 pm".
_HOUR_ALONE = re.compile(r"\d{1,2}(?:[:.]\d\d)?(?: ?(?:Uhr|am|pm|a\.m\.|p\.m\.|o'clock))?", re.IGNORECASE)
# Days that come again, and what stands before their hour: "mittwochs um", "every Monday at".
_AGAIN = re.compile(
    r"(?P<days>(?:jeden|every|her) [^\d]*|[^\W\d]{5,}s(?:(?:,| und| and| &) [^\W\d]{5,}s)*,? (?:um|ab|at|from) )", re.IGNORECASE
)


def names_a_day(fact: FormedFact) -> bool:
    """Whether a fact ends the time of something on one day of the week only."""
    return fact.act == "end" and fact.predicate == TIME and fact.value.islower() and fact.value.isalpha()


def without_day(value: str, day: str) -> str | None:
    """The days of a list without one, empty where it was the only one.

    None where it is not among them, or where one Thursday falls away of what comes again ("thursday", not "thursdays").
    """
    if not day.endswith("s") and day not in value.casefold().split():
        return None
    days = [one for one in _LISTED.split(value) if one.strip()]
    left = [one for one in days if day.removesuffix("s") not in one.casefold()]
    if len(left) == len(days):
        return None
    return " ".join(left) if len(left) < 2 else f"{', '.join(left[:-1])}{_joining(value)}{left[-1]}"


def _joining(value: str) -> str:
    joined = [match.group() for match in _LISTED.finditer(value)]
    return joined[-1] if joined else ", "


def at_another_hour(fact: FormedFact, before: str) -> FormedFact:
    """ "It's at seven now", of what was on Wednesdays at eight `before`: on Wednesdays at seven."""
    value = on_its_days(fact.value, before)
    return fact if value == fact.value else replace(fact, value=value, object_key=normalise_fact_key(value))


def on_its_days(hour: str, before: str) -> str:
    """A new hour with the days on which it was so far; the hour alone where it names a day itself or the other came once."""
    again = _AGAIN.match(before)
    if again is None or not _HOUR_ALONE.fullmatch(hour) or not any(letter.isdigit() for letter in before):
        return hour
    return f"{again['days']}{hour}"

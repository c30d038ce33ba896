"""Values taken apart: one for each member of a list, and times without what stands behind them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from aico_memory.domain.formation.attributes import ATTRIBUTE, TIME, Found, named_only, unpreposed
from aico_memory.domain.formation.formed import NEWEST
from aico_memory.domain.formation.frames import shorten
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.wording import COMMA, commas, first_of, lower_in, trim

_LISTS = re.compile(rf"\s*(?:(?<!\d),|[,{COMMA}](?!\d))\s*(?:and |und |ve )?|\s+(?:and|und|ve|as well as|sowie|&)\s+")
# Words of a member of a list.
_LONG = 5
# Of these all members are names.
NAMED = frozenset({"visited", "lives_with"})
MEDICATION = "medication"
EMPLOYER = "employer"
# What the rewrites put for "at A and at B": "Marks and Spencer" is one.
_TWO_PLACES = re.compile(r" (?:plus|sowie) ")
_DOSE = re.compile(
    r"^\d[\d.,]* ?(?:mg|mcg|µg|g|ml|Mikrogramm|Milligramm|Gramm|Tropfen|Tabletten?|Einheiten|IE|Kapseln?)\b(?: of)? (?=\w)",
    re.IGNORECASE,
)
# "Philips and my wife", of one of whom there is one.
_AND_OWN = re.compile(r",? (?:and|but) (?:my|our) .*$", re.IGNORECASE)
_DONE = frozenset({"plays", "eats", "drinks", "uses", "hobby", "does", "language", "learning", "medication"})
_NUMERAL = re.compile(r"\b\d+[a-z]?\b")
_NUMBER = re.compile(r"(?:number |no\.? |#)?(\d+[a-z]?)", re.IGNORECASE)
_JOINED = re.compile(r"\b(?:and|und|ve|as well as|sowie|ile)\b|&")


def other_number(old: str, new: str) -> str:
    """ "Maple Street 14", corrected by "number 41": the same with the other number; empty where it is no such thing."""
    said = _NUMBER.fullmatch(new)
    held = _NUMERAL.findall(old)
    return _NUMERAL.sub(said[1], old) if said and len(held) == 1 and held[0] != old else ""


def separate(found: Found, tables: FormationTables, grammar: Grammar, told: str = "") -> Iterator[Found]:
    """One fact for each member of a list, where the predicate has many values; `told`: what stands behind the verb."""
    if found.temporal or found.act == "alias":
        value = commas(found.value)
        yield replace(found, value=_when_only(value, grammar) if found.predicate == TIME else value)
        return
    if found.predicate == EMPLOYER and len(places := _TWO_PLACES.split(found.value)) > 1:
        # "At Bosch and at Aldi": both at once, in the place of what was before.
        for number, place in enumerate(places):
            left = NEWEST if not number and not found.act else found.left
            yield replace(found, value=shorten(place, grammar), single_valued=False, left=left)
        return
    if found.single_valued or (found.predicate not in tables.predicates and ":" not in found.predicate):
        if not found.single_valued and (listed := _each_of(found, grammar)):
            yield from (replace(found, value=one) for one in listed)
            return
        # What stands behind a comma is said beside it.
        value = _AND_OWN.sub("", found.value) if grammar.parser == "english" else found.value
        yield replace(found, value=shorten(first_of(value), grammar))
        return
    parts = [shorten(part, grammar) for part in _LISTS.split(found.value)]
    if grammar.code != "tr":
        # "im Ruderclub und im Chor"
        parts = [*parts[:1], *(unpreposed(part, grammar) for part in parts[1:])]
    if len(parts) > 1 and _is_described(parts, found, told, grammar):
        parts = parts[:1]
    first = lower_in(parts[0], grammar.code)
    kinds = [known for known in tables.types.values() if first in known] if not _JOINED.search(found.value) else []
    for number, part in enumerate(parts):
        if number and kinds and not any(lower_in(part, grammar.code) in known for known in kinds):
            # "I play the drums, help": no list, but what one thinks of it.
            continue
        words = lower_in(part, grammar.code).split()
        compared = words[:1] and words[0] in grammar.words["compares"]
        spoken = any(word in grammar.words["speaker"] for word in words)
        beside = number and (len(words) > _LONG or compared or spoken)
        if found.predicate == MEDICATION:
            # How much of it is told beside it.
            part = _DOSE.sub("", part)  # noqa: PLW2901
        beside = beside or (number and grammar.parser == "english" and _is_two(words, grammar))
        # "I play the drums and my brother too"
        beside = beside or (number and found.predicate in _DONE and bool(words) and words[-1] in grammar.relations)
        if found.predicate.removeprefix(ATTRIBUTE) in grammar.relations and grammar.parser == "english":
            # "The Okafors on the left and the Lindqvists on the right"
            part = named_only(part, grammar)  # noqa: PLW2901
        named = found.predicate in NAMED and parts[0][:1].isupper() and not part[:1].isupper()
        if (part or not found.value) and not beside and not named:
            yield replace(found, value=part)


def _nouns_listed(value: str, grammar: Grammar) -> list[str]:
    """The members of a German list of bare nouns; empty where it is none."""
    parts = [shorten(part, grammar) for part in _LISTS.split(value)]
    bare = all(part[:1].isupper() and " " not in part for part in parts)
    return parts if len(parts) > 1 and bare and _JOINED.search(value) else []


def _each_of(found: Found, grammar: Grammar) -> list[str]:
    """The members of a list that is joined and that an open verb is said of, one by one; empty where it is none.

    "Sie unterrichtet Mathe und Physik" of bare German nouns, "I grow leeks, chard and two pear trees" of verbs that hold of
    each by itself, so that one may end alone.
    """
    if grammar.parser == "german" and (listed := _nouns_listed(found.value, grammar)):
        return listed
    if found.predicate not in grammar.words["each"] or not _JOINED.search(found.value):
        return []
    parts = [shorten(part, grammar) for part in _LISTS.split(found.value)]
    return parts if len(parts) > 1 and all(0 < len(part.split()) < _LONG for part in parts) else []


def _is_described(parts: list[str], found: Found, told: str, grammar: Grammar) -> bool:
    """ "A Toyota Yaris, silver, 90,000 km": what the first is like, since things that are listed have an article each."""
    if grammar.parser != "english" or found.act or _JOINED.search(found.value):
        return False
    low = lower_in(told, grammar.code)
    first, others = lower_in(parts[0], grammar.code), [lower_in(part, grammar.code) for part in parts[1:]]
    return bool(re.search(rf"\b(?:a|an) {re.escape(first)}", low)) and not any(
        re.search(rf"\b(?:a|an|the|my|our|some|another|\d+) {re.escape(part)}", low) for part in others
    )


def _is_two(words: list[str], grammar: Grammar) -> bool:
    """ "Sister a present": an article inside, and no preposition before it."""
    return any(
        word in ("a", "an") and before not in grammar.words["prepositions"] | {"such", "quite", "half", "of"}
        for before, word in pairwise(words)
    )


def _when_only(value: str, grammar: Grammar) -> str:
    """ "every second Wednesday at Hannah's": without where or with whom, behind the last word of time."""
    words = value.split()
    calendar = grammar.calendar

    def of_time(word: str) -> bool:
        low = lower_in(trim(word), grammar.code)
        named = any(low.removesuffix("s") in known for known in (calendar.weekdays, calendar.months, calendar.units))
        return named or any(letter.isdigit() for letter in low) or low in calendar.days

    def led_away(at: int) -> bool:
        """Whether what stands there leads to a place ("um 7:12 Uhr von Gleis 3")."""
        leads = (
            at
            and lower_in(words[at], grammar.code) in grammar.words["prepositions"]
            and any(map(of_time, words[max(0, at - 2) : at]))
        )
        behind = words[at + 1 : at + 2]
        return bool(leads and behind and behind[0][:1].isupper() and not of_time(behind[0]))

    if away := next((at for at in range(1, len(words) - 1) if led_away(at)), 0):
        words = words[:away]
    last = max((at for at, word in enumerate(words) if of_time(word)), default=len(words))
    beside = next(
        (
            at
            for at, word in enumerate(words)
            if at > last and lower_in(trim(word), grammar.code) in grammar.words["prepositions"]
        ),
        len(words),
    )
    while beside > 1 and lower_in(trim(words[beside - 1]), grammar.code) in grammar.words["determiners"] and beside - 1 > last:
        # "am Montag um 9 Uhr einen (Termin)"
        beside -= 1
    return trim(" ".join(words[:beside])) if grammar.code != "tr" else value

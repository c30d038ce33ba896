"""Whether two values are amounts of the same thing: sums of money, weights, lengths, ages, counts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.wording import lower_in, trim

# Groups of units; an amount in one is none in another.
_UNITS = ("money", "masses", "lengths")
_SPANS = "spans"
_SIGNS = "€$£₺%°"
_FIGURE = re.compile(rf"(?P<sign>[{_SIGNS}#]?)(?P<figure>\d[\d.,']*)(?P<unit>[^\W\d_]*[{_SIGNS}²]?)")
# How much greater or smaller what was meant may be.
_TIMES = 10
# Letters by which a noun is known in its other forms ("cat", "cats").
_STEM = 4
_THOUSAND = 3


def is_amount(value: str, grammar: Grammar) -> bool:
    """A number first, and what it is a number of."""
    words = value.split()
    # "555 1234" is no amount, "1 200" is one.
    several = len(words) > 1 and words[0].isdigit() and words[1].isdigit() and len(words[1]) != _THOUSAND
    return bool(words) and not several and _number(words[0], grammar) is not None


def same_amount(old: str, value: str, sure: bool, of_years: bool, grammar: Grammar) -> bool:
    """Whether the second is an amount of what the first is one of; `of_years`: an age, told with and without its unit."""
    if not is_amount(value, grammar):
        return False
    was, now = set(_units(old, grammar)), set(_units(value, grammar))
    if of_years and not any(_is_of_years(word, grammar) for word in value.split()[1:]) and now:
        # "5 minutes" is no age.
        return False
    if of_years:
        was, now = was - {_SPANS}, now - {_SPANS}
    if was and now and not was & now:
        return False
    if not was and now - set(_UNITS):
        return False
    one, other = _first(old, grammar), _first(value, grammar)
    return sure or bool(one and other and 1 / _TIMES <= other / one <= _TIMES)


def _is_of_years(word: str, grammar: Grammar) -> bool:
    return grammar.calendar.units.get(lower_in(trim(word), grammar.code)) in ("year", "month")


def _number(word: str, grammar: Grammar) -> float | None:
    low = lower_in(trim(word), grammar.code)
    if low in grammar.calendar.numbers and low not in grammar.words["determiners"]:
        return float(grammar.calendar.numbers[low])
    match = _FIGURE.fullmatch(low)
    if match is None:
        return None
    figure = match["figure"].rstrip(".,'")
    # "1,200", "1.200": three figures behind the mark are thousands.
    plain = re.sub(r"[.,'](?=\d{3}(?!\d))", "", figure).replace(",", ".")
    return float(plain) if plain.count(".") <= 1 else float(re.sub(r"\.", "", plain))


def _first(value: str, grammar: Grammar) -> float | None:
    return next((found for word in value.split() if (found := _number(word, grammar)) is not None), None)


def _units(value: str, grammar: Grammar) -> Iterator[str]:
    """The groups of the units of an amount; of what is in none, the beginning of the word."""
    for word in value.split():
        low = lower_in(trim(word), grammar.code)
        match = _FIGURE.fullmatch(low)
        named = [one for one in (match["sign"].strip("#"), match["unit"]) if one] if match else [low]
        for one in named:
            if not one or _number(one, grammar) is not None or one in grammar.words["determiners"]:
                continue
            if one in grammar.words["prepositions"] or one in grammar.words["adverbs"]:
                continue
            known = next((group for group in (*_UNITS, _SPANS) if one in grammar.words[group]), "")
            yield known or one[:_STEM]

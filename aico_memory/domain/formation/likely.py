"""Which of many patterns a text may match at all, told by letters that each of them cannot do without.

A language's file has hundreds of wordings, of which a message matches hardly any, and each costs some microseconds to try. So
of each pattern those strings are taken one of which stands in whatever it matches, and of each string three letters
that follow one another; a text is cut into its own threes once, and a pattern none of whose threes is among them is not
tried. What is left out could not have matched (see `required_strings`), so that nothing but time depends on it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from re import _constants as _codes  # type: ignore[attr-defined]  # the parsed form has no public name
from re import _parser  # type: ignore[attr-defined]
from re._casefix import _EXTRA_CASES  # type: ignore[import-not-found]
from typing import Any, Final

_LETTERS: Final = 3
# Strings that a part of a pattern may stand for before it counts as anything at all, and of which one pattern is told by.
_MOST_STRINGS: Final = 96
# Letters that are the same for whoever ignores case, beside the two cases of each: the first of them stands for all.
_SAME: Final = {
    **{ord("İ"): "i", ord("\u212a"): "k", ord("\u212b"): "å", ord("ẞ"): "ß"},
    **{other: chr(min(letter, *others)) for letter, others in _EXTRA_CASES.items() for other in (letter, *others)},
}
# Letters from which on a longer string tells no more.
_LONG: Final = 6
_NOTHING: Final = frozenset({""})
# All strings that something may stand for; None: unknown, or too many.
_Exact = frozenset[str] | None


def even_letters(text: str) -> str:
    """Lower case of the same length, with letters that patterns do not tell apart made one."""
    return text.translate(_SAME).lower().translate(_SAME)


# Patterns are made of few letters; of messages none is kept.
@lru_cache(maxsize=1024)
def _even_letter(letter: int) -> str:
    return even_letters(chr(letter))


def required_strings(pattern: re.Pattern[str]) -> frozenset[str]:
    """Strings of even letters, one of which stands in the even letters of whatever the pattern matches; none: not known."""
    required: list[frozenset[str]] = []
    _of_sequence(_parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG), required)
    return _tightest(required) or frozenset()


def _tightest(sets: Sequence[frozenset[str]]) -> _Exact:
    """Of sets of strings the one that fewest texts hold something of; None where each has a string too short to tell."""
    # The shortest string of a set is the one that stands in most texts, and many strings stand in more than few.
    shortest = [(min(map(len, one), default=0), one) for one in sets]
    fit = [(-min(length, _LONG), len(one), sorted(one), one) for length, one in shortest if length >= _LETTERS]
    return min(fit)[-1] if fit else None


def _of_sequence(parts: Iterable[Any], required: list[frozenset[str]]) -> _Exact:
    """All strings that a sequence stands for. Sets of which it holds one string each go to `required`."""
    whole: _Exact = _NOTHING
    # What the last parts in a row say exactly.
    run = _NOTHING
    for part in parts:
        exact = _of_part(part, required)
        longer = _joined(run, exact)
        if longer is None:
            required.append(run)
            run = exact if exact is not None else _NOTHING
            whole = None
        else:
            run = longer
            whole = longer if whole is not None else None
    required.append(run)
    return whole


def _joined(before: frozenset[str], after: _Exact) -> _Exact:
    if after is None or len(before) * len(after) > _MOST_STRINGS:
        return None
    if len(after) == 1:
        (other,) = after
        return before if not other else frozenset([one + other for one in before])
    return frozenset(one + other for one in before for other in after)


def _of_part(part: tuple[Any, Any], required: list[frozenset[str]]) -> _Exact:
    code, given = part
    if code is _codes.LITERAL:
        return frozenset({_even_letter(given)})
    if code is _codes.IN:
        return _of_letters(given)
    if code is _codes.SUBPATTERN:
        return _of_sequence(given[-1], required)
    if code is _codes.ATOMIC_GROUP:
        return _of_sequence(given, required)
    if code is _codes.BRANCH:
        return _of_branches(given[1], required)
    if code in (_codes.MAX_REPEAT, _codes.MIN_REPEAT, _codes.POSSESSIVE_REPEAT):
        least, most, inner = given
        return _of_repeated(least, most, inner, required)
    if code is _codes.ASSERT:
        # What lies ahead or behind stands in the text, too, but not in a row with what is matched.
        _of_sequence(given[1], required)
        return _NOTHING
    return _NOTHING if code in (_codes.AT, _codes.ASSERT_NOT) else None


def _of_letters(given: Sequence[tuple[Any, Any]]) -> _Exact:
    """The letters of a class that names each of them."""
    if not all(code is _codes.LITERAL for code, _ in given) or len(given) > _MOST_STRINGS:
        return None
    return frozenset(_even_letter(letter) for _, letter in given)


def _of_repeated(least: int, most: int, inner: Iterable[Any], required: list[frozenset[str]]) -> _Exact:
    # What may be missing is required by nobody.
    exact = _of_sequence(inner, required if least else [])
    if exact is None or most != 1:
        return None
    return exact if least else exact | _NOTHING


def _of_branches(branches: Sequence[Any], required: list[frozenset[str]]) -> _Exact:
    """Each branch requires something of its own: the text holds what one of them requires."""
    found: set[str] = set()
    together: set[str] = set()
    exact = True
    for branch in branches:
        mine: list[frozenset[str]] = []
        strings = _of_sequence(branch, mine)
        exact = exact and strings is not None
        found |= strings or set()
        together |= _tightest(mine) or _NOTHING
    if len(together) <= _MOST_STRINGS:
        required.append(frozenset(together))
    return frozenset(found) if exact and len(found) <= _MOST_STRINGS else None


@dataclass(frozen=True, slots=True)
class Likely:
    """Patterns by threes of letters, as bits of a number: bit n is the n-th pattern."""

    by_three: dict[str, int]
    always: int

    @staticmethod
    def of(patterns: Sequence[re.Pattern[str]]) -> Likely:
        """The index of these patterns."""
        required = [required_strings(one) for one in patterns]
        common = Counter(three for strings in required for one in strings for three in _threes(one))
        by_three: dict[str, int] = {}
        always = 0
        for number, strings in enumerate(required):
            if not strings:
                always |= 1 << number
            for one in strings:
                # The three that the fewest others have.
                three = min(_threes(one), key=lambda part: (common[part], part))
                by_three[three] = by_three.get(three, 0) | 1 << number
        return Likely(by_three, always)

    def numbers(self, text: str) -> list[int]:
        """Numbers of the patterns that the text may match, the last one first."""
        even, found = even_letters(text), self.always
        for three in _threes(even) & self.by_three.keys():
            found |= self.by_three[three]
        return _ones(found)[::-1]


def _threes(text: str) -> set[str]:
    return {text[at : at + _LETTERS] for at in range(len(text) - _LETTERS + 1)}


def _ones(bits: int) -> list[int]:
    found = []
    while bits:
        lowest = bits & -bits
        found.append(lowest.bit_length() - 1)
        bits ^= lowest
    return found

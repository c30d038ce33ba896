"""Complaints that are denied ("not too long at all"): a rule by language, whose words stand in the language's file.

A bag of spelled runs and an embedding both hear the complaint and not its negation. So a text is cut into clauses, and
those that deny a complaint are left out of what is sorted. The scope of a negation is what words of little weight may
stand in ("not" … "too long"): "doesn't help, too long" and "I don't like that it is too long" stay what they are.

A language's file gives, under `negation`:

* `words`: lists of words by name. A `+` at the end stands for any ending, and an apostrophe may be left out.
* `denials`: how the language denies a complaint, as sequences of such names in its order of words:
  `negators ~ excess degrees` for "not at all too long", `excess degrees ~ negators` for "fazla uzun değil". `~` is
  where words of the list `between` may stand, `?` what may be missing, `^` and `$` are the ends of a clause.
* `stays`: sequences that keep a clause what it is ("not only", "not long enough", "don't be").
* `joints`: words that begin a clause ("but"); `linked`: those that go on with one after a comma ("nicht, dass …").
* `requests`: words that ask for something, wherever in the text they stand ("not too long, please").
* `unspaced`: whether the script does not space its words.

Of the lists, `faults` are wrong or too much by themselves, `excess` is "too", and `also` is what else shows that more is
said (a further negation, where neither space nor comma parts it): a clause in which one is left complains of something
else than what it denies. `or` goes on with `degrees` and `faults` under one negation, `after` is "too" behind them, and
`fine` says that all is well, and so as much as the denial beside it ("not too short, just right").

The reverse is praise that a complaint negates: "that answered my question" is spelled much as "that didn't answer my
question". A clause that says words of `praise`, and beside them nothing but words of `before` and `behind`, is left out as
well; no negation is among these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from aico_memory.domain.feedback.clauses import Clause, Cutting, cutting_of, spoken, texts_of

# The key of a language's file.
RULE: Final = "negation"
# Words that may stand between, as often as this at most.
BETWEEN: Final = "between"
_MOST_BETWEEN: Final = 6
# What complains: where one of them is left in a clause, it complains of something else than what is denied.
_COMPLAINING: Final = ("excess", "faults", "also")
_FINE: Final = "fine"
# Praise, and what may stand before and behind it, as often as this at most.
_PRAISE, _BEFORE, _BEHIND = "praise", "before", "behind"
_MOST_BEFORE: Final = 6
_MOST_BEHIND: Final = 4
# What ends a clause but for a joint.
_STOP: Final = re.compile(r"[^\w\s]\s*$")
# Words beside what says that all is well (letters where they are not spaced): "a great answer has sources" says more.
_MOST_BESIDE: Final = 3
_KEYS: Final = frozenset({"unspaced", "words", "denials", "stays", "joints", "linked", "requests"})


@dataclass(frozen=True, slots=True)
class Negation:
    """The rule of one language."""

    # What denies a complaint, and what keeps a clause in which it stands a complaint ("not only", "don't be").
    denials: re.Pattern[str]
    stays: re.Pattern[str] | None
    # What is too much or wrong by itself.
    complaining: re.Pattern[str]
    # What says that all is well; left out beside a denial only.
    fine: re.Pattern[str] | None
    # Anywhere in the text: something is asked for, nothing is denied ("not too long, please").
    requests: re.Pattern[str] | None
    # What a clause may say as a whole that is praise, and nothing else.
    praise: re.Pattern[str] | None
    cutting: Cutting

    def left(self, text: str) -> str:
        """What is left of a text without the clauses that deny a complaint or praise; the text itself where none does."""
        if self.requests is not None and self.requests.search(self._said(text)):
            return text
        clauses = self.cutting.clauses(text)
        kept = [
            clause for clause, after in zip_longest(clauses, clauses[1:])
            if clause.asks or not (self._praises(clause, after) or self._beside(self.denials, clause.text) is not None)
        ]  # fmt: skip
        if len(kept) == len(clauses):
            return text
        # What goes with a denial says as much as it does: what is "not too short" is "just right".
        return "".join(clause.text for clause in kept if clause.asks or not self._is_fine(clause.text)).strip()

    def _praises(self, clause: Clause, after: Clause | None) -> bool:
        """Whether it is praise as a whole; a few words that a joint alone parts from it may turn it ("works still not")."""
        if self.praise is None or not self.praise.fullmatch(self._said(clause.text)):
            return False
        return after is None or _STOP.search(clause.text) is not None or self._size(after.text) >= _MOST_BESIDE

    def _size(self, text: str) -> int:
        """Words; letters where they are not spaced."""
        return len(text if self.cutting.unspaced is not None else text.split())

    def _is_fine(self, clause: str) -> bool:
        beside = None if self.fine is None else self._beside(self.fine, clause)
        return beside is not None and self._size(beside) <= _MOST_BESIDE

    def _beside(self, wanted: re.Pattern[str], clause: str) -> str | None:
        """What a clause says beside what is wanted; None where it does not say that, or complains."""
        said = self._said(clause)
        rest, found = wanted.subn(" ", said)
        rest = " ".join(rest.split())
        if not found or (self.stays is not None and self.stays.search(said)) or self.complaining.search(rest):
            return None
        return rest

    def _said(self, text: str) -> str:
        said = spoken(text)
        return said.replace(" ", "") if self.cutting.unspaced is not None else said


def negation_of(content: Mapping[str, object]) -> Negation | None:
    """The rule of a language's file, under `negation`; None where it has none. ValueError names what is wrong."""
    part = content.get(RULE)
    if part is None:
        return None
    if not isinstance(part, Mapping) or not isinstance(part.get("words"), Mapping):
        raise ValueError("`negation` must hold `words` and `denials`")  # noqa: TRY004  # one error kind for the reader
    if unknown := set(part) - _KEYS:
        raise ValueError(f"unknown key {sorted(unknown)[0]!r} of `negation`")
    spaced = not part.get("unspaced", False)
    words = {str(name): texts_of(part["words"], name, RULE) for name in part["words"]}
    lists = {name: _any_of(texts, spaced) for name, texts in words.items()}
    denials = [_sequence(one, lists, spaced) for one in texts_of(part, "denials", RULE)]
    stays = [_sequence(one, lists, spaced) for one in texts_of(part, "stays", RULE)]
    complaining = [lists[name] for name in _COMPLAINING if name in lists]
    requests = texts_of(part, "requests", RULE)
    if not denials or not complaining:
        raise ValueError("`negation` denies nothing without `denials` and `words` of `faults` or `excess`")
    return Negation(
        denials=_pattern(denials, spaced),
        stays=_pattern(stays, spaced) if stays else None,
        complaining=_pattern(complaining, spaced),
        fine=_pattern([lists[_FINE]], spaced) if _FINE in lists else None,
        requests=_pattern([_any_of(requests, spaced)], spaced) if requests else None,
        praise=_whole(lists, spaced),
        cutting=cutting_of(part, RULE),
    )


def _whole(lists: Mapping[str, str], spaced: bool) -> re.Pattern[str] | None:
    if _PRAISE not in lists:
        return None
    gap, never = " " if spaced else "", "(?!)"
    before, behind = lists.get(_BEFORE, never), lists.get(_BEHIND, never)
    return re.compile(rf"(?:{before}{gap}){{0,{_MOST_BEFORE}}}{lists[_PRAISE]}(?:{gap}{behind}){{0,{_MOST_BEHIND}}}")


def _any_of(texts: Iterable[str], spaced: bool) -> str:
    """One of these texts, the longest first. A `+` at the end stands for any ending, an apostrophe may be left out."""
    found = []
    for text in sorted(dict.fromkeys(texts), key=lambda one: (-len(one), one)):
        stem = " ?".join(re.escape(spoken(piece)).replace(r"\ ", " ") for piece in re.split("['’]", text.removesuffix("+")))
        found.append((stem if spaced else stem.replace(" ", "")) + (r"\w*" if spaced and text.endswith("+") else ""))
    return f"(?:{'|'.join(found)})"


def _sequence(text: str, lists: Mapping[str, str], spaced: bool) -> str:
    """`negators ~ excess? degrees $`: lists one after the other, `~` for what may stand between, `?` may be missing.

    `^` and `$` are the ends of the clause. Where there is a list `or`, further faults may follow under the same negation.
    """
    gap = " " if spaced else ""
    between = f"(?:{gap}{lists[BETWEEN]}){{0,{_MOST_BETWEEN}}}" if BETWEEN in lists else ""
    pattern, is_first = "", True
    for element in text.split():
        name = element.removesuffix("?")
        if name in ("~", "$", "^"):
            pattern += between if name == "~" else name
            continue
        if name not in lists:
            raise ValueError(f"the list {name!r} of `negation` is missing")
        one = lists[name] if is_first else gap + lists[name]
        if name != element and is_first:
            raise ValueError(f"{text!r} of `negation` begins with what may be missing")
        pattern += f"(?:{one})?" if name != element else one
        is_first = False
    if "or" in lists and not text.endswith("$"):
        further = "|".join(lists[name] for name in ("degrees", "faults") if name in lists)
        excess = f"(?:{gap}{lists['excess']})?" if "excess" in lists else ""
        after = f"(?:{gap}{lists['after']})?" if "after" in lists else ""
        pattern += f"(?:{gap}{lists['or']}{between}{excess}{gap}(?:{further}){after})*"
    return pattern


def _pattern(alternatives: Iterable[str], spaced: bool) -> re.Pattern[str]:
    joined = "|".join(alternatives)
    return re.compile(rf"(?<!\S)(?:{joined})(?!\S)" if spaced else f"(?:{joined})")

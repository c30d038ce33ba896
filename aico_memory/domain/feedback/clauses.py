"""A feedback text cut into clauses, each of which says one thing of the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from aico_memory.domain.retrieval.tokens import fold
from aico_memory.domain.text_regression.grams import plain

# A stop between digits is part of a number; a hyphen joins two words unless it stands alone.
_BREAK: Final = re.compile(r"[,;:!?…。！？、，；：،؛؟()\n\r—]+|\.(?!\d)[.!?]*|\s[-–]+\s")
_QUESTION: Final = frozenset("?？؟")
# A comma before a linking word does not end what is denied ("ich finde nicht, dass es zu lang ist").
_LINKABLE: Final = frozenset(",，،")
_PART: Final = re.compile(r"\S+\s*")
_NO_WORD: Final = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of the text as it stands, with what ends it; all clauses of a text together are that text."""

    text: str
    asks: bool = False


@dataclass(frozen=True, slots=True)
class Cutting:
    """Where a language's rule cuts a text."""

    # Words, folded, that begin a clause ("but"), and, as they are `spoken`, those that go on with one after a comma.
    joints: frozenset[str]
    linked: frozenset[str]
    # The joints of a script that does not space its words; None where words are spaced.
    unspaced: re.Pattern[str] | None

    def clauses(self, text: str) -> list[Clause]:
        """The clauses of a text in order."""
        return clauses_of(text, self.joints, self.linked, self.unspaced)


def cutting_of(part: Mapping[str, object], rule: str) -> Cutting:
    """From `joints`, `linked` and `unspaced` of a rule of a language's file. ValueError names what is wrong."""
    spaced, joints = not part.get("unspaced", False), texts_of(part, "joints", rule)
    return Cutting(
        joints=frozenset(map(fold, joints)) if spaced else frozenset(),
        linked=frozenset(map(spoken, texts_of(part, "linked", rule))),
        unspaced=None if spaced else re.compile("|".join(map(re.escape, joints)) or r"(?!)"),
    )


def texts_of(part: Mapping[str, object], name: str, rule: str) -> list[str]:
    """A list of texts of a rule; empty where there is none. ValueError where it is anything else."""
    found = part.get(name, [])
    if not isinstance(found, list) or not all(isinstance(one, str) and one.strip() for one in found):
        raise ValueError(f"{name!r} of `{rule}` must be a list of texts")
    return found


def clauses_of(text: str, joints: Set[str], linked: Set[str], unspaced: re.Pattern[str] | None = None) -> list[Clause]:
    """The clauses in order. `joints`, folded, begin one ("but"); `linked`, as they are `spoken`, go on with one after a comma.

    `unspaced`: the joints of a script that does not space words.
    """
    found: list[Clause] = []
    start = 0
    for stop in [*_BREAK.finditer(text), None]:
        end = len(text) if stop is None else stop.end()
        signs = set() if stop is None else set(stop.group().strip())
        if signs and signs <= _LINKABLE and _first(text[end:]) in linked:
            continue
        asks = bool(_QUESTION & signs)
        pieces = _cut(text[start:end], joints, unspaced)
        # What is asked is asked by the clause before the mark, not by those before a joint.
        found += [Clause(piece, asks and place == len(pieces) - 1) for place, piece in enumerate(pieces)]
        start = end
    return found


def spoken(text: str) -> str:
    """Plain words with one space between them: no marks, no punctuation."""
    return _NO_WORD.sub(" ", plain(text)).strip()


def spelled(text: str) -> str:
    """The same with their marks."""
    return _NO_WORD.sub(" ", fold(text)).strip()


def _first(text: str) -> str:
    words = spoken(text[:40]).split()
    return words[0] if words else ""


def _cut(piece: str, joints: Set[str], unspaced: re.Pattern[str] | None) -> list[str]:
    """A piece cut before each joint."""
    if unspaced is not None:
        cuts = [match.start() for match in unspaced.finditer(piece)]
    else:
        # With their marks: "e" is a joint, "è" is not.
        cuts = [match.start() for match in _PART.finditer(piece) if fold(match.group()).strip() in joints]
    places = [0, *(cut for cut in cuts if cut > 0), len(piece)]
    return [piece[one:other] for one, other in pairwise(places) if other > one]

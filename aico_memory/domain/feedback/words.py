"""A clause taken for a row of known words: which kinds stand in it, and whether there is anything else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from aico_memory.domain.feedback.clauses import spelled, spoken

# "Waaay", "tooo": no language here has a letter three times over; numbers have.
_DRAWN: Final = re.compile(r"([^\W\d_])\1{2,}")
_APOSTROPHES: Final = str.maketrans("", "", "'’")


@dataclass(frozen=True, slots=True)
class Found:
    """The kinds of the words of a text, in their order; `other`: how many words (letters, unspaced) are of no kind."""

    kinds: tuple[str, ...]
    other: int


class Words:
    """Words and turns of a language by kind; the longest that fits is taken. Made once, changed no more."""

    def __init__(self, kinds: Mapping[str, Iterable[str]], spaced: bool) -> None:
        self._spaced = spaced
        self._kinds: dict[str, str] = {}
        # By the words, the last of which begins with what is given.
        self._begun: dict[str, list[tuple[str, str]]] = {}
        self._longest = 1
        # The words that turns consist of.
        self._parts_known: set[str] = set()
        # With their marks first: "langer Text" says something else than "länger", but marks may be left out.
        for spell in (spelled, spoken):
            for kind, texts in kinds.items():
                for text in texts:
                    self._learn(kind, text, spell)

    def read(self, text: str) -> Found:
        """The kinds of a text."""
        parts = [self._undrawn(part) for part in self._parts(spelled(text))]
        kinds: list[str] = []
        at = other = 0
        while at < len(parts):
            kind, size = self._next(parts, at)
            if kind:
                kinds.append(kind)
            else:
                other += 1
            at += size
        return Found(tuple(kinds), other)

    def _next(self, parts: list[str], at: int) -> tuple[str, int]:
        """The kind of the longest known turn from here on, and its parts; ("", 1) where there is none."""
        for size in range(min(self._longest, len(parts) - at), 0, -1):
            turn = (" " if self._spaced else "").join(parts[at : at + size])
            if kind := self._kinds.get(turn) or self._of_begun(turn):
                return kind, size
        return "", 1

    def _of_begun(self, turn: str) -> str:
        before, _, last = turn.rpartition(" ")
        fitting = [(len(begun), kind) for begun, kind in self._begun.get(before, ()) if last.startswith(begun)]
        return max(fitting, key=lambda one: one[0])[1] if fitting else ""

    def _learn(self, kind: str, text: str, spell: Callable[[str], str]) -> None:
        # An apostrophe may be left out.
        for one in {text, text.translate(_APOSTROPHES)}:
            parts = self._parts(spell(one.removesuffix("+")))
            self._longest = max(self._longest, len(parts))
            self._parts_known.update(parts)
            if one.endswith("+") and self._spaced:
                self._begun.setdefault(" ".join(parts[:-1]), []).append((parts[-1], kind))
            else:
                self._kinds.setdefault((" " if self._spaced else "").join(parts), kind)

    def _undrawn(self, part: str) -> str:
        """A word without what is drawn out in it: "tooo" is "too", "waaay" is "way"."""
        double = _DRAWN.sub(r"\1\1", part)
        return double if double in self._parts_known else _DRAWN.sub(r"\1", part)

    def _parts(self, words: str) -> list[str]:
        return words.split() if self._spaced else list(words.replace(" ", ""))

"""What is known of a scope's memories before a question comes, and how a question's words stand in them: plain arrays.

Rows are the memories of one scope: first its turns, conversation by conversation, each behind the turn before it; then what
is no turn. So whoever stands beside a turn stands beside it in the arrays. `n` is their number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aico_memory.domain.retrieval.bm25 import penalties

Floats = npt.NDArray[np.float32]
Positions = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]
NOBODY = -1


class Counts(NamedTuple):
    """How often each of the question's words (or runs of characters) stands in each row, shape (words, n)."""

    often: Floats
    # What each of them counts, 1 unless it is a name that everybody uses.
    weights: Floats


@dataclass(frozen=True)
class Rows:
    """A scope's memories; every array has `n` entries. What all parts of a question need is computed once."""

    # Words of the text, and runs of characters of these words.
    words: Floats
    characters: Floats
    # The row before it is the turn before it in the same session.
    joined: Flags
    # How many are turns; each of the others stands alone.
    turns: int
    said_at_us: npt.NDArray[np.int64]
    # The text ends with a question; it holds one; it tells a time.
    ends_asking: Flags
    asks: Flags
    tells_time: Flags
    # 0..1 each.
    importance: Floats
    utility: Floats
    confidence: Floats
    # How often it was used.
    uses: Floats
    # False: it is not to be seen by this question, and says nothing of its neighbours.
    visible: Flags

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def total(self) -> int:
        """How many rows are visible."""
        return int(self.visible.sum())

    @cached_property
    def after_asking(self) -> Floats:
        """1 where the turn before holds a question, shape (n,)."""
        return neighbours(self.flagged("asks"), self).before

    def flagged(self, name: str) -> Floats:
        """One of the flags as a number, shape (n,)."""
        if name not in self._flagged:
            self._flagged[name] = getattr(self, name).astype(np.float32)
        return self._flagged[name]

    def lengths(self, reach: int) -> Floats:
        """Words of each row and of so many turns before and after it, what is not visible left out; shape (n,)."""
        if reach >= len(self._windows):
            own = np.where(self.visible, self.words, np.float32(0)).astype(np.float32)
            self._windows[:] = [own, *windows(own, self, reach)]
        return self._windows[reach]

    def average(self, reach: int) -> float:
        """The mean of these lengths over the visible rows."""
        if reach not in self._averages:
            total = float(self.lengths(reach).sum(where=self.visible, dtype=np.float64))
            self._averages[reach] = total / self.total if self.total else 0.0
        return self._averages[reach]

    def penalty(self, reach: int) -> Floats:
        """What BM25 takes from a word for the length of each row and its surroundings, shape (n,)."""
        if reach not in self._penalties:
            self._penalties[reach] = penalties(self.lengths(reach), self.average(reach))
        return self._penalties[reach]

    @cached_property
    def links(self) -> Floats:
        """1 between two turns of one session, 0 between the last of one and the first of the next; shape (turns - 1,)."""
        return self.joined[1 : self.turns].astype(np.float32)

    @cached_property
    def sessions(self) -> tuple[Positions, Positions]:
        """Where each session begins, and how many turns it has."""
        starts = np.flatnonzero(~self.joined[: self.turns])
        return starts, np.diff(starts, append=self.turns)

    @cached_property
    def _windows(self) -> list[Floats]:
        return []

    @cached_property
    def _penalties(self) -> dict[int, Floats]:
        return {}

    @cached_property
    def _flagged(self) -> dict[str, Floats]:
        return {}

    @cached_property
    def _averages(self) -> dict[int, float]:
        return {}


class Span(NamedTuple):
    """A number per row of its surroundings."""

    before: Floats
    after: Floats


def neighbours(values: Floats, rows: Rows) -> Span:
    """The value of the row before and of the row after in the session; 0 where there is none. Shape (n,)."""
    return Span(_before(values, rows), _after(values, rows))


def windows(values: Floats, rows: Rows, reach: int) -> list[Floats]:
    """The sums over the rows at most 1, 2, … `reach` turns away in the session, the row itself included. Shape (n,)."""
    found: list[Floats] = []
    total = earlier = later = values
    for _ in range(reach):
        earlier, later = _before(earlier, rows), _after(later, rows)
        total = total + earlier
        total += later
        found.append(total)
    return found


def best_of_session(values: Floats, rows: Rows) -> Floats:
    """The largest value in each row's session, shape (n,)."""
    best = values.copy()
    if rows.turns:
        starts, lengths = rows.sessions
        best[: rows.turns] = np.repeat(np.maximum.reduceat(values[: rows.turns], starts), lengths)
    return best


def _before(values: Floats, rows: Rows) -> Floats:
    if rows.turns < 2:
        return np.zeros_like(values)
    # What is written anyway needs not be 0 first.
    found = np.empty_like(values)
    found[0], found[rows.turns :] = 0, 0
    np.multiply(values[: rows.turns - 1], rows.links, out=found[1 : rows.turns])
    return found


def _after(values: Floats, rows: Rows) -> Floats:
    if rows.turns < 2:
        return np.zeros_like(values)
    found = np.empty_like(values)
    found[rows.turns - 1 :] = 0
    np.multiply(values[1 : rows.turns], rows.links, out=found[: rows.turns - 1])
    return found

"""Texts as weighted runs of characters: the features that every language has, spaced or not.

Runs of one to five characters do not cross the edge of a word, which is marked by a space; of unspaced writing a
whole passage is a word. Weights are (1 + ln count) · idf over the length of the row (Salton & Buckley 1988).
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from aico_memory.domain.retrieval.tokens import fold

LONGEST: Final = 5
_EDGES: Final = ".,;:!?¡¿…\"'«»„“”()"
Floats = npt.NDArray[np.float32]
Columns = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Rows:
    """Sparse rows: the entries of row i are those from `starts[i]` to `starts[i + 1]`; no row is empty."""

    starts: npt.NDArray[np.int64]
    columns: Columns
    values: Floats
    width: int

    @property
    def count(self) -> int:
        return len(self.starts) - 1

    def part(self, start: int, end: int) -> Rows:
        """The rows from `start` to before `end`, of which fewer may be there."""
        starts = self.starts[start : min(end, self.count) + 1]
        entries = slice(int(starts[0]), int(starts[-1]))
        return Rows(starts - starts[0], self.columns[entries], self.values[entries], self.width)

    def dense(self) -> Floats:
        """The same as a matrix of shape (count, width)."""
        matrix = np.zeros((self.count, self.width), dtype=np.float32)
        matrix[np.repeat(np.arange(self.count), np.diff(self.starts)), self.columns] = self.values
        return matrix

    def lengths(self) -> Floats:
        """Squared length of each row, at most 1."""
        return np.add.reduceat(self.values**2, self.starts[:-1])

    def times(self, weights: Floats) -> Floats:
        """Rows · weights, of shape (count,) for weights of shape (width,)."""
        return np.add.reduceat(self.values * weights[self.columns], self.starts[:-1])

    def transposed_times(self, amounts: Floats) -> Floats:
        """Rows transposed · amounts, of shape (width,) for amounts of shape (count,)."""
        spread = self.values * np.repeat(amounts, np.diff(self.starts))
        return np.bincount(self.columns, spread, self.width).astype(np.float32)


class Grams:
    """The runs that some texts consist of, and the texts as rows of them.

    A run that stands in one text alone has no column, since it cannot make that text like another. It counts in the
    length of its row, as does a run that was never seen: so a text of which little is known has a short row.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        # Taking texts apart is most of the work, so each is taken apart once.
        numbers: dict[str, int] = defaultdict(count().__next__)
        counted: list[tuple[Columns, Floats]] = []
        for text in texts:
            found = Counter(runs(text))
            seen = np.fromiter(map(numbers.__getitem__, found), np.int32, len(found))
            counted.append((seen, np.fromiter(found.values(), np.float32, len(found))))
        texts_with = np.bincount(np.concatenate([seen for seen, _ in counted]), minlength=len(numbers))
        often = sorted(run for run, number in numbers.items() if texts_with[number] > 1)
        self._place = {run: place for place, run in enumerate(often)}
        self._idf = np.array([idf(int(texts_with[numbers[run]]), len(texts)) for run in often], dtype=np.float32)
        self._rare = idf(1, len(texts))
        place_of = np.full(len(numbers), -1, dtype=np.int32)
        place_of[[numbers[run] for run in often]] = np.arange(len(often), dtype=np.int32)
        self.rows = self._rows(counted, place_of)

    @property
    def width(self) -> int:
        return len(self._place)

    def forget_rows(self) -> None:
        """Let the rows of the texts go once they are learned from: what is asked later does not need them."""
        del self.rows

    def row(self, text: str) -> tuple[Columns, Floats]:
        """Columns and values of a text; both empty where no run of it is known."""
        counted = Counter(runs(text))
        places = np.fromiter((self._place.get(run, -1) for run in counted), np.int32, len(counted))
        return self._row(places, np.fromiter(counted.values(), np.float32, len(counted)))

    def _row(self, places: Columns, counts: Floats) -> tuple[Columns, Floats]:
        """Of runs at these columns (-1: none) that often."""
        known = places >= 0
        columns, unknown = places[known], counts[~known]
        if not columns.size:
            return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32)
        values = (1 + np.log(counts[known])) * self._idf[columns]
        length = np.sqrt(np.sum(values**2) + np.sum(((1 + np.log(unknown)) * self._rare) ** 2))
        return columns, (values / length).astype(np.float32)

    def _rows(self, counted: Sequence[tuple[Columns, Floats]], place_of: Columns) -> Rows:
        return rows_of((self._row(place_of[seen], counts) for seen, counts in counted), len(self._place))


def rows_of(found: Iterable[tuple[Columns, Floats]], width: int) -> Rows:
    """Rows of these columns and values; a text that shares nothing with the others is one of an entry that weighs nothing."""
    blank = (np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.float32))
    rows = [row if row[0].size else blank for row in found]
    starts = np.concatenate([[0], np.cumsum([len(columns) for columns, _ in rows])]).astype(np.int64)
    columns, values = (np.concatenate(part) for part in zip(*rows, strict=True))
    return Rows(starts, columns, values, width)


def idf(count: int, texts: int) -> float:
    """How rare a run is that stands in `count` of so many texts; 1 where it stands in all."""
    return math.log((1 + texts) / (1 + count)) + 1


def runs(text: str) -> Iterable[str]:
    """The runs of characters of a text, and its pairs of neighbouring words, with repetitions.

    "Too long" and "not long enough" consist of much the same runs; the pairs tell them apart.
    """
    words = plain(text).split()
    for one, other in pairwise(word.strip(_EDGES) for word in words):
        yield f"{one}_{other}"
    for word in words:
        edged = f" {word} "
        for size in range(1, LONGEST + 1):
            for at in range(max(1, len(edged) - size + 1)):
                yield edged[at : at + size]


def plain(text: str) -> str:
    """Folded, Latin letters without their marks: on a phone many are left out."""
    split = unicodedata.normalize("NFD", fold(text))
    kept = [letter for place, letter in enumerate(split) if not (unicodedata.combining(letter) and _latin(split, place))]
    return unicodedata.normalize("NFC", "".join(kept)).replace("ı", "i")


def _latin(split: str, place: int) -> bool:
    before = place - 1
    while before >= 0 and unicodedata.combining(split[before]):
        before -= 1
    return before >= 0 and split[before] < "\u0250"

"""Named features of every memory of a scope for one question, as columns.

All are bounded or nearly so and do not depend on how many memories there are, so that weights
learned on small scopes hold in large ones. None knows who said a turn.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aico_memory.domain.retrieval.bm25 import scored
from aico_memory.domain.retrieval.cues import DateCue, nearness
from aico_memory.domain.retrieval.evidence import Counts, Floats, Rows, best_of_session, neighbours
from aico_memory.domain.retrieval.windows import around

NAMES = (
    "similarity", "words", "coverage", "characters", "character_coverage",
    "window_1", "window_2", "similarity_before", "similarity_after", "words_before", "words_after",
    "session_similarity", "session_words", "answers_similar", "answers_words",
    "date", "day", "time_wanted", "tells_time", "asking", "asks", "length",
    "importance", "recency", "activation", "utility", "confidence", "rrf",
)  # fmt: skip
EVERY = frozenset(NAMES)
_BESIDE_WORDS = frozenset({"words_before", "words_after", "answers_words"})
_BESIDE_SIMILAR = frozenset({"similarity_before", "similarity_after", "answers_similar"})
# More of these is never worse: a learned weight of theirs is not negative. What stands beside a text may tell
# that it was only part of the matter, so the weights of neighbours are free.
EVIDENCE = frozenset(NAMES) - {
    "asking", "asks", "length", "tells_time", "recency", "activation",
    "similarity_before", "similarity_after", "words_before", "words_after",
}  # fmt: skip
# A text of so many words needs no neighbour to be understood; beyond, its surroundings count less.
TERSE_WORDS = 80.0
# Where no text holds this share of the question's information, words that do match are mere chance and count less.
TRUSTED_COVERAGE = 0.3
_DISTRUST = 4
_DAY_US = 86_400_000_000
_RECENCY_DAYS = 30.0
_RRF_K = 60
_LEAST_AGE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Figures:
    """Settings of the features."""

    terse_words: float = TERSE_WORDS
    trusted_coverage: float = TRUSTED_COVERAGE
    rrf_k: int = _RRF_K


class Asked(NamedTuple):
    """A question against one scope."""

    words: Counts
    # Runs of characters; no rows where they are not looked at.
    characters: Counts
    date: DateCue
    wants_time: bool
    now_us: int


class Worded(NamedTuple):
    """What is known of the rows before the model has told what the question means."""

    rows: Rows
    # Each shape (n,); to be finished by `completed`.
    columns: Mapping[str, Floats]
    # The words' own score of each row.
    words: Floats
    # How much its surroundings say of a row, shape (n,).
    terse: Floats
    figures: Figures
    wanted: Collection[str]


def features(rows: Rows, asked: Asked, similarity: Floats, figures: Figures, wanted: Collection[str] = EVERY) -> Floats:
    """Shape (n, len(NAMES)), in the order of `NAMES`; those that nobody wants are 0.

    `similarity` is the cosine with each row, -1..1; 0 where there is no vector.
    """
    found = completed(worded(rows, asked, figures, wanted), similarity)
    return rows_of(found, np.arange(len(rows)))


def rows_of(columns: Mapping[str, Floats], places: npt.NDArray[np.intp]) -> Floats:
    """Some rows with all features, shape (len(places), len(NAMES)); 0 where there is no such column."""
    table = np.zeros((len(NAMES), len(places)), dtype=np.float32)
    for row, name in zip(table, NAMES, strict=True):
        if name in columns:
            row[:] = columns[name][places]
    return table.T


def worded(rows: Rows, asked: Asked, figures: Figures, wanted: Collection[str] = EVERY) -> Worded:
    """The features that need no vector. Nothing of the rows is read after but who stands beside whom, and what is visible."""
    found = _Wanted(wanted)
    terse = np.minimum(1.0, figures.terse_words / np.maximum(rows.words, 1.0)).astype(np.float32) ** 2
    words = _lexical(found, rows, asked, terse, figures.trusted_coverage)
    if asked.date and found.wants("date", "day"):
        on_date, on_day = nearness(asked.date, rows.said_at_us)
        found.put("date", lambda: on_date)
        found.put("day", lambda: on_day)
    found.put("tells_time", lambda: rows.flagged("tells_time"))
    if asked.wants_time:
        found.put("time_wanted", lambda: rows.flagged("tells_time"))
    found.put("asking", lambda: rows.flagged("ends_asking"))
    found.put("asks", lambda: rows.flagged("asks"))
    found.put("length", lambda: np.log1p(rows.words))
    _strength(found, rows, asked.now_us)
    return Worded(rows, found.columns, words, terse, figures, wanted)


def completed(worded: Worded, similarity: Floats) -> dict[str, Floats]:
    """All wanted features, each shape (n,), with what the vectors say; columns that are 0 everywhere may be missing."""
    rows, terse = worded.rows, worded.terse
    found = _Wanted(worded.wanted, worded.columns)
    seen = np.where(rows.visible, similarity, np.float32(0)).astype(np.float32, copy=False)
    found.put("similarity", lambda: seen)
    if found.wants(*_BESIDE_SIMILAR):
        near = neighbours(seen, rows)
        before = near.before * terse
        found.put("similarity_before", lambda: before)
        found.put("similarity_after", lambda: near.after * terse)
        found.put("answers_similar", lambda: rows.after_asking * before)
    found.put("session_similarity", lambda: best_of_session(seen, rows))
    found.put("rrf", lambda: _fused_ranks((worded.words, seen), worded.figures.rrf_k))
    return found.columns


class _Wanted:
    """Columns by name, of which only the wanted are computed. Those that parts of a question share are not copied."""

    def __init__(self, wanted: Collection[str], known: Mapping[str, Floats] | None = None) -> None:
        self._wanted = wanted
        self.columns: dict[str, Floats] = dict(known or {})

    def wants(self, *names: str) -> bool:
        """Whether one of these is wanted."""
        return any(name in self._wanted for name in names)

    def put(self, name: str, value: Callable[[], npt.NDArray[np.floating]]) -> None:
        """Compute a column, if it is wanted."""
        if name in self._wanted:
            self.columns[name] = value().astype(np.float32, copy=False)


def _lexical(found: _Wanted, rows: Rows, asked: Asked, terse: Floats, trusted: float) -> Floats:
    """What words and runs of characters say; the words' own score of each row."""
    windows = tuple(reach for reach in (1, 2) if found.wants(f"window_{reach}"))
    near = around(asked.words, rows, max(windows, default=0))
    own = near.bm25[0]
    trust = np.float32(min(1.0, float(near.coverage.max(initial=0.0)) / trusted) ** _DISTRUST)
    words = own * trust
    found.put("words", lambda: words)
    found.put("coverage", lambda: near.coverage * trust)
    for reach in windows:
        between = _between(own, near.bm25[reach], terse) * trust
        found.columns[f"window_{reach}"] = between
    if found.wants(*_BESIDE_WORDS):
        beside = neighbours(words, rows)
        before = beside.before * terse
        found.put("words_before", lambda: before)
        found.put("words_after", lambda: beside.after * terse)
        found.put("answers_words", lambda: rows.after_asking * before)
    found.put("session_words", lambda: best_of_session(words, rows))
    if len(asked.characters.often) and found.wants("characters", "character_coverage"):
        runs = Counts(np.where(rows.visible, asked.characters.often, np.float32(0)), asked.characters.weights)
        of_runs = scored(runs, rows.characters, rows.visible)
        found.put("characters", lambda: of_runs.bm25)
        found.put("character_coverage", lambda: of_runs.coverage)
    return words


def _strength(found: _Wanted, rows: Rows, now_us: int) -> None:
    found.put("importance", lambda: rows.importance)
    found.put("utility", lambda: rows.utility)
    found.put("confidence", lambda: rows.confidence)
    if found.wants("recency", "activation"):
        age = np.maximum((now_us - rows.said_at_us) / 1e6, _LEAST_AGE_SECONDS)
        found.put("recency", lambda: 1.0 / (1.0 + age * 1e6 / _DAY_US / _RECENCY_DAYS))
        # ACT-R base level of a memory used n times since it was made.
        base = np.log(np.maximum(rows.uses, 1.0)) - 0.5 * np.log(age)
        found.put("activation", lambda: 1.0 / (1.0 + np.exp(-base)))


def _fused_ranks(lists: tuple[Floats, ...], k: int) -> Floats:
    """Reciprocal rank fusion of the rows that a list speaks for, 0..1."""
    total = np.zeros(len(lists[0]), dtype=np.float32)
    for scores in lists:
        order = np.argsort(-scores, kind="stable")
        ranks = np.empty(len(scores), dtype=np.float32)
        ranks[order] = np.arange(1, len(scores) + 1, dtype=np.float32)
        total += np.where(scores > 0, (k + 1) / (k + ranks), np.float32(0)) / len(lists)
    return total


def _between(own: Floats, around: Floats, terse: Floats) -> Floats:
    """The surroundings' value where a text is terse, its own where it is not."""
    return own + terse * (around - own)

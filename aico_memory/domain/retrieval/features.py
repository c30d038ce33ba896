"""Named features of every memory of a scope for one question, as columns.

All are bounded or nearly so and do not depend on how many memories there are, so that weights
learned on small scopes hold in large ones. None knows who said a turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from aico_memory.domain.retrieval.bm25 import scored
from aico_memory.domain.retrieval.cues import DateCue, nearness
from aico_memory.domain.retrieval.evidence import Counts, Floats, Rows, best_of_session, neighbours, widened

NAMES = (
    "similarity", "words", "coverage", "characters", "character_coverage",
    "window_1", "window_2", "similarity_before", "similarity_after", "words_before", "words_after",
    "session_similarity", "session_words", "answers_similar", "answers_words",
    "date", "day", "time_wanted", "tells_time", "asking", "asks", "length",
    "importance", "recency", "activation", "utility", "confidence", "rrf",
)  # fmt: skip
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
    # Cosine with each row, -1..1; 0 where there is no vector.
    similarity: Floats
    date: DateCue
    wants_time: bool
    now_us: int


def features(rows: Rows, asked: Asked, figures: Figures) -> Floats:
    """Shape (n, len(NAMES)), in the order of `NAMES`."""
    found = dict.fromkeys(NAMES, np.zeros(len(rows), dtype=np.float32))
    terse = np.minimum(1.0, figures.terse_words / np.maximum(rows.words, 1.0)).astype(np.float32) ** 2
    _lexical(found, rows, asked, terse, figures.trusted_coverage)
    similarity = np.where(rows.visible, asked.similarity, np.float32(0)).astype(np.float32)
    near = neighbours(similarity, rows)
    found["similarity"] = similarity
    found["similarity_before"], found["similarity_after"] = near.before * terse, near.after * terse
    found["session_similarity"] = best_of_session(similarity, rows)
    after_question = neighbours(rows.asks.astype(np.float32), rows).before
    found["answers_similar"] = after_question * found["similarity_before"]
    found["answers_words"] = after_question * found["words_before"]
    found["date"], found["day"] = nearness(asked.date, rows.said_at_us)
    found["tells_time"] = rows.tells_time.astype(np.float32)
    if asked.wants_time:
        found["time_wanted"] = found["tells_time"]
    found["asking"], found["asks"] = rows.ends_asking.astype(np.float32), rows.asks.astype(np.float32)
    found["length"] = np.log1p(rows.words).astype(np.float32)
    _strength(found, rows, asked.now_us)
    found["rrf"] = _fused_ranks((found["words"], similarity), figures.rrf_k)
    return np.stack([found[name] for name in NAMES], axis=1)


def _lexical(found: dict[str, Floats], rows: Rows, asked: Asked, terse: Floats, trusted: float) -> None:
    often = np.where(rows.visible, asked.words.often, np.float32(0))
    words = Counts(often, asked.words.weights)
    found["words"], found["coverage"] = scored(words, rows.words, rows.visible)
    lengths = np.where(rows.visible, rows.words, np.float32(0)).astype(np.float32)
    for reach in (1, 2):
        around = scored(Counts(widened(often, rows, reach), words.weights), widened(lengths, rows, reach), rows.visible)
        found[f"window_{reach}"] = _between(found["words"], around.bm25, terse)
    near = neighbours(found["words"], rows)
    found["words_before"], found["words_after"] = near.before * terse, near.after * terse
    found["session_words"] = best_of_session(found["words"], rows)
    trust = np.float32(min(1.0, float(found["coverage"].max(initial=0.0)) / trusted) ** _DISTRUST)
    for name in ("words", "coverage", "window_1", "window_2", "words_before", "words_after", "session_words"):
        found[name] = found[name] * trust
    if len(asked.characters.often):
        runs = Counts(np.where(rows.visible, asked.characters.often, np.float32(0)), asked.characters.weights)
        found["characters"], found["character_coverage"] = scored(runs, rows.characters, rows.visible)


def _strength(found: dict[str, Floats], rows: Rows, now_us: int) -> None:
    age = np.maximum((now_us - rows.said_at_us) / 1e6, _LEAST_AGE_SECONDS)
    found["importance"], found["utility"], found["confidence"] = rows.importance, rows.utility, rows.confidence
    found["recency"] = (1.0 / (1.0 + age * 1e6 / _DAY_US / _RECENCY_DAYS)).astype(np.float32)
    # ACT-R base level of a memory used n times since it was made.
    base = np.log(np.maximum(rows.uses, 1.0)) - 0.5 * np.log(age)
    found["activation"] = (1.0 / (1.0 + np.exp(-base))).astype(np.float32)


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

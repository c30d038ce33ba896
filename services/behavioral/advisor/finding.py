"""Finding a user's outcomes: filters first, then likeness and words together.

Words decide alone where the model is away, and where it does not speak the language: its vectors say nothing then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from google.protobuf.message import Message
from numpy.typing import NDArray

from aico_memory.contracts.v1 import model_pb2
from aico_memory.domain.advisor.matching import hybrid, likeness, word_scores
from aico_memory.domain.advisor.outcome import Outcome, embedded_text
from aico_memory.domain.formation.language import LanguageTable
from aico_memory.domain.language.detection import certain_language
from aico_memory.errors import AicoMemoryError
from aico_memory.settings.outcomes import OutcomeSettings
from services.behavioral.topic_vectors import rows_of

Ask = Callable[[Message, float], "Future[Any]"]
HYBRID, WORDS, NEWEST, IDS = "hybrid", "words", "newest", "ids"
SEMANTIC = "semantic"
# Texts of which the language is kept, and letters by which that of short ones together is told.
_TEXTS, _LETTERS = 4096, 4000


@dataclass(frozen=True, slots=True)
class Library:
    """A user's outcomes, by number, with the vectors that they have."""

    outcomes: Sequence[Outcome]
    # By number: (fingerprint of the model, vector).
    vectors: dict[int, tuple[str, NDArray[np.float32]]]

    @property
    def by_time(self) -> list[Outcome]:
        return sorted(self.outcomes, key=lambda one: (one.decided_us, one.number))

    @property
    def replaced(self) -> dict[int, str]:
        """By number of what another answer to the same suggestion stands in the place of: the id of that one."""
        last = {one.suggestion_id: one for one in sorted(self.outcomes, key=lambda one: one.number)}
        standing = ((one, last[one.suggestion_id]) for one in self.outcomes)
        return {one.number: later.outcome_id for one, later in standing if later.number != one.number}


@dataclass(frozen=True, slots=True)
class Found:
    """Outcomes with their scores, best first; cosines where there are any; by what, and what was done without."""

    hits: Sequence[tuple[float, Outcome]]
    cosines: dict[int, float]
    answered_by: str
    degraded: tuple[str, ...] = ()


class Finder:
    """Ranks outcomes for a question. Thread-safe: it keeps nothing but the fingerprint seen last and languages of texts."""

    def __init__(self, ask: Ask, settings: OutcomeSettings, languages: LanguageTable) -> None:
        self._ask = ask
        self._settings = settings
        # Of the model that answered last; "" before the first answer.
        self.fingerprint = ""
        self._language = lru_cache(maxsize=_TEXTS)(lambda text: certain_language(text, languages))

    def ranked(self, candidates: Sequence[Outcome], library: Library, query: str) -> Found:
        """All candidates by how well they answer the query."""
        if not candidates:
            return Found((), {}, WORDS)
        by_words = word_scores([embedded_text(one) for one in candidates], query)
        embedded = self._embedded(query)
        if embedded is None:
            return _sorted(candidates, np.clip(by_words, 0.0, 1.0), {}, WORDS, (SEMANTIC,))
        vector, spoken = embedded
        foreign = self._foreign(candidates, query, spoken)
        if foreign is None:
            unread = f"{SEMANTIC}: the model does not speak the language"
            return _sorted(candidates, np.clip(by_words, 0.0, 1.0), {}, WORDS, (unread,))
        found = [library.vectors.get(one.number) for one in candidates]
        fitting = [one[1] if one is not None and one[0] == self.fingerprint else None for one in found]
        cosines = likeness(fitting, vector)
        without = int(np.isnan(cosines).sum())
        cosines[foreign] = np.nan
        missing = [(without, "not embedded yet"), (int(foreign.sum()), "in a language that the model does not speak")]
        degraded = tuple(f"{SEMANTIC}: {count} of {len(candidates)} {why}" for count, why in missing if count)
        scores = hybrid(cosines, by_words, self._settings.semantic_weight, self._settings.words_weight)
        known = {one.number: float(value) for one, value in zip(candidates, cosines, strict=True) if not np.isnan(value)}
        return _sorted(candidates, scores, known, HYBRID, degraded)

    def _foreign(self, candidates: Sequence[Outcome], query: str, spoken: Sequence[str]) -> NDArray[np.bool_] | None:
        """Which candidates a model of these languages (empty: every language) cannot read; None: it cannot read the query.

        Texts too short to tell by themselves are taken for what they are together; in doubt the model reads them.
        """
        if not spoken:
            return np.zeros(len(candidates), dtype=np.bool_)
        written = [one.reason or embedded_text(one) for one in candidates]
        languages = [self._language(text) for text in (query, *written)]
        short = [text for text, language in zip(written, languages[1:], strict=True) if not language]
        together = self._language(" ".join(short)[:_LETTERS]) or spoken[0]
        unread = np.array([(language or together) not in spoken for language in languages], dtype=np.bool_)
        return None if unread[0] else unread[1:]

    def _embedded(self, text: str) -> tuple[NDArray[np.float32], tuple[str, ...]] | None:
        """The vector, and what its model speaks (empty: every language)."""
        seconds = self._settings.embed_wait_ms / 1000
        request = model_pb2.EmbedRequest(texts=[text[: self._settings.embed_characters]], interactive=True)
        try:
            answer = self._ask(request, seconds).result(seconds)
        except (AicoMemoryError, FutureTimeout, CancelledError):
            return None
        rows = rows_of(answer, 1)
        if rows is None:
            return None
        self.fingerprint = answer.fingerprint
        vector: NDArray[np.float32] = rows[0]
        return vector, tuple(answer.languages)


def _sorted(
    candidates: Sequence[Outcome], scores: NDArray[np.float32], cosines: dict[int, float], by: str, degraded: tuple[str, ...]
) -> Found:
    hits = sorted(zip(map(float, scores), candidates, strict=True), key=lambda hit: (-hit[0], -hit[1].number))
    return Found(hits, cosines, by, degraded)

"""Finding a user's outcomes: filters first, then likeness and words together, or words alone where the model is away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from typing import Any

import numpy as np
from google.protobuf.message import Message
from numpy.typing import NDArray

from aico_memory.contracts.v1 import model_pb2
from aico_memory.domain.advisor.matching import hybrid, likeness, word_scores
from aico_memory.domain.advisor.outcome import Outcome, embedded_text
from aico_memory.errors import AicoMemoryError
from aico_memory.settings.outcomes import OutcomeSettings
from services.behavioral.topic_vectors import rows_of

Ask = Callable[[Message, float], "Future[Any]"]
HYBRID, WORDS, NEWEST, IDS = "hybrid", "words", "newest", "ids"
SEMANTIC = "semantic"


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
    """Ranks outcomes for a question. Thread-safe: it keeps nothing but the fingerprint seen last."""

    def __init__(self, ask: Ask, settings: OutcomeSettings) -> None:
        self._ask = ask
        self._settings = settings
        # Of the model that answered last; "" before the first answer.
        self.fingerprint = ""

    def ranked(self, candidates: Sequence[Outcome], library: Library, query: str) -> Found:
        """All candidates by how well they answer the query."""
        if not candidates:
            return Found((), {}, WORDS)
        by_words = word_scores([embedded_text(one) for one in candidates], query)
        vector = self._embedded(query)
        if vector is None:
            return _sorted(candidates, np.clip(by_words, 0.0, 1.0), {}, WORDS, (SEMANTIC,))
        found = [library.vectors.get(one.number) for one in candidates]
        fitting = [one[1] if one is not None and one[0] == self.fingerprint else None for one in found]
        cosines = likeness(fitting, vector)
        without = int(np.isnan(cosines).sum())
        missing = (f"{SEMANTIC}: {without} of {len(candidates)} not embedded yet",) if without else ()
        scores = hybrid(cosines, by_words, self._settings.semantic_weight, self._settings.words_weight)
        known = {one.number: float(value) for one, value in zip(candidates, cosines, strict=True) if not np.isnan(value)}
        return _sorted(candidates, scores, known, HYBRID, missing)

    def _embedded(self, text: str) -> NDArray[np.float32] | None:
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
        return vector


def _sorted(
    candidates: Sequence[Outcome], scores: NDArray[np.float32], cosines: dict[int, float], by: str, degraded: tuple[str, ...]
) -> Found:
    hits = sorted(zip(map(float, scores), candidates, strict=True), key=lambda hit: (-hit[0], -hit[1].number))
    return Found(hits, cosines, by, degraded)

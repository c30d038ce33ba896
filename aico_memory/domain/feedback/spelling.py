"""Feedback text by its spelling: one regression over the phrases of all languages, and which language a text is in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aico_memory.domain.feedback.phrases import CATEGORIES, Phrase
from aico_memory.domain.text_regression.grams import Floats, Grams
from aico_memory.domain.text_regression.ridge import sparse_ridge


def targets_of(phrases: Sequence[Phrase]) -> Floats:
    """One row a phrase: 1 for its category, else 0; shape (len(phrases), len(CATEGORIES))."""
    return np.eye(len(CATEGORIES), dtype=np.float32)[[CATEGORIES.index(phrase.category) for phrase in phrases]]


class Spelling:
    """Trained on phrases when it is made (a second or two for a few thousand); it changes no more afterwards."""

    def __init__(self, phrases: Sequence[Phrase], penalty: float) -> None:
        self._grams = Grams([phrase.text for phrase in phrases])
        targets = targets_of(phrases)
        self._mean = targets.mean(axis=0)
        self._weights = sparse_ridge(self._grams.rows, targets - self._mean, penalty)
        self.languages = sorted({phrase.language for phrase in phrases})
        self._centroids = self._language_centroids(phrases)
        self._grams.forget_rows()

    def scores(self, text: str) -> Floats:
        """About the share of such texts that belong to each of CATEGORIES; not bounded to 0..1."""
        columns, values = self._grams.row(text)
        return np.asarray(self._mean + values @ self._weights[columns], dtype=np.float32)

    def language(self, text: str) -> str:
        """The language whose phrases are spelled most alike; "" where no run of the text is known."""
        columns, values = self._grams.row(text)
        return self.languages[int((values @ self._centroids[columns]).argmax())] if columns.size else ""

    def _language_centroids(self, phrases: Sequence[Phrase]) -> Floats:
        member = np.array([phrase.language for phrase in phrases])
        sums = [self._grams.rows.transposed_times((member == language).astype(np.float32)) for language in self.languages]
        return np.stack([one / max(float(np.linalg.norm(one)), 1e-9) for one in sums], axis=1)

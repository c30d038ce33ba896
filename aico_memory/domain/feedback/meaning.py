"""Feedback text by its embedding: linear weights that were trained for one embedding model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aico_memory.domain.feedback.phrases import CATEGORIES, Phrase
from aico_memory.domain.feedback.spelling import targets_of
from aico_memory.domain.text_regression.grams import Floats
from aico_memory.domain.text_regression.ridge import dense_ridge


@dataclass(frozen=True, slots=True)
class Linear:
    """`weights` of shape (dimension, len(CATEGORIES)), `mean` of shape (len(CATEGORIES),)."""

    weights: Floats
    mean: Floats

    def scores(self, vectors: Floats) -> Floats:
        """About the share of such texts that belong to each category, for one vector or for rows of them."""
        return vectors @ self.weights + self.mean


@dataclass(frozen=True, slots=True)
class Voice:
    """How much the embedding says beside the spelling, and how sure both together are; found by cross-validation."""

    linear: Linear
    # Weight of its scores, those of the spelling having 1.
    share: float
    # Factor on the weighted scores before they become chances.
    sharpness: float


@dataclass(frozen=True, slots=True)
class Meaning:
    """What was trained for one embedding model: for languages that it speaks, and for those that it does not."""

    fingerprint: str
    model: str
    # Empty: it speaks every language.
    languages: tuple[str, ...]
    spoken: Voice
    foreign: Voice | None
    # Chance (0..1) from which on a complaint counts, calibrated for this model; None: it is not.
    threshold: float | None = None

    def voice(self, language: str) -> Voice:
        """What holds for a text of this language; an unknown language is a spoken one."""
        return self.spoken if self.foreign is None or not language or language in self.languages else self.foreign


def fit_linear(vectors: Floats, phrases: Sequence[Phrase], penalty: float) -> Linear:
    """Ridge regression on the phrases' embeddings, rows of unit length."""
    targets = targets_of(phrases)
    mean = targets.mean(axis=0)
    centre = vectors.mean(axis=0)
    weights = dense_ridge(vectors - centre, targets - mean, penalty)
    return Linear(weights, (mean - centre @ weights).astype(np.float32))


def empty_linear(dimension: int) -> Linear:
    """Says nothing."""
    return Linear(np.zeros((dimension, len(CATEGORIES)), dtype=np.float32), np.zeros(len(CATEGORIES), dtype=np.float32))

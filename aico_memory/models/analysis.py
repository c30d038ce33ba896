"""Embedded classifiers: examples in embedding space, examples in spelling space, and the tables' cues, fused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from aico_memory.domain.language.cues import intent_cues, sentiment_cues
from aico_memory.domain.language.small_talk import small_talk
from aico_memory.domain.language.tables import FALLBACK_INTENT, FALLBACK_SENTIMENT, INTENTS, SENTIMENTS, PhraseTable
from aico_memory.models.embedder import Vectors
from aico_memory.models.twin import HashedEmbedder

# Weights of the three voices and the evidence below which none is believed: measured on the sentences in
# tests/models/labelled.yaml, which are not among the examples.
MEANING_WEIGHT = 1.0
SPELLING_WEIGHT = 0.5
CUE_WEIGHT = 0.35
TEMPERATURE = 0.1
LEAST_EVIDENCE = {"intent": 0.2, "sentiment": 0.15}


@dataclass(frozen=True, slots=True)
class Judgement:
    """A label, how sure (0..1), and who says so."""

    label: str
    score: float
    answered_by: str


class Classifier(Protocol):
    """One task: intent or sentiment."""

    def judge(self, text: str, language: str, vector: npt.NDArray[np.float32] | None) -> Judgement:
        """The label of a text; `vector` is its embedding where the model speaks its language."""


class EmbeddedClassifier:
    """Answers for one task from the language tables, with or without embeddings of their examples."""

    def __init__(self, task: str, tables: Mapping[str, PhraseTable]) -> None:
        self._task = task
        self._tables = tables
        self._labels = INTENTS if task == "intent" else SENTIMENTS
        self._fallback = FALLBACK_INTENT if task == "intent" else FALLBACK_SENTIMENT
        self._cues: Callable[[str, PhraseTable], dict[str, float]] = intent_cues if task == "intent" else sentiment_cues
        self._spelling = HashedEmbedder(512, (2, 3, 4))
        self._examples = [
            (code, label, example)
            for code, table in tables.items()
            for label, examples in (table.intent_examples if task == "intent" else table.sentiment_examples).items()
            for example in examples
        ]
        self._example_labels = np.array([self._labels.index(label) for _, label, _ in self._examples])
        self._example_codes = np.array([code for code, _, _ in self._examples])
        self._spelled = self._spelling.embed([example for _, _, example in self._examples])
        self._meanings: Vectors | None = None
        self._meaning_labels: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._model = ""

    def examples_for(self, languages: Sequence[str]) -> list[str]:
        """Examples in these languages (all where none is named): what `learn_meanings` wants the vectors of."""
        return [example for code, _, example in self._examples if not languages or code in languages]

    def learn_meanings(self, model: str, languages: Sequence[str], vectors: Vectors) -> None:
        """Use the embeddings of `examples_for(languages)` from now on."""
        chosen = [not languages or code in languages for code, _, _ in self._examples]
        self._meaning_labels = self._example_labels[chosen]
        self._model = model
        self._meanings = vectors

    def judge(self, text: str, language: str, vector: npt.NDArray[np.float32] | None) -> Judgement:
        meanings = self._meanings
        answered_by = (
            f"embedded ({self._model} + tables)" if vector is not None and meanings is not None else "embedded (tables)"
        )
        if self._task == "intent" and small_talk(text, self._tables.values()) in ("greeting", "acknowledgement"):
            return Judgement("casual", 1.0, "embedded (tables)")
        scores = self._spelling_scores(text, language) * SPELLING_WEIGHT
        if vector is not None and meanings is not None:
            scores += MEANING_WEIGHT * _nearest(meanings @ vector, self._meaning_labels, len(self._labels))
        for label, weight in self._cue_weights(text, language).items():
            scores[self._labels.index(label)] += CUE_WEIGHT * weight
        best = int(scores.argmax())
        chances = np.exp((scores - scores.max()) / TEMPERATURE)
        if scores[best] < LEAST_EVIDENCE[self._task]:
            return Judgement(self._fallback, float(1 - scores[best]), answered_by)
        return Judgement(self._labels[best], float(chances[best] / chances.sum()), answered_by)

    def _spelling_scores(self, text: str, language: str) -> npt.NDArray[np.float64]:
        here = self._example_codes == language if language in self._tables else np.ones(len(self._examples), dtype=bool)
        similar = self._spelled[here] @ self._spelling.embed([text])[0]
        return _nearest(similar, self._example_labels[here], len(self._labels), nearest=1)

    def _cue_weights(self, text: str, language: str) -> dict[str, float]:
        if language in self._tables:
            return self._cues(text, self._tables[language])
        found: dict[str, float] = {}
        for table in self._tables.values():
            for label, weight in self._cues(text, table).items():
                found[label] = max(found.get(label, 0.0), weight)
        return found


def _nearest(
    similar: npt.NDArray[np.float32], labels: npt.NDArray[np.int64], count: int, nearest: int = 2
) -> npt.NDArray[np.float64]:
    """Per label the mean of its nearest examples' similarities, at least 0."""
    scores = np.zeros(count)
    for label in range(count):
        own = similar[labels == label]
        if own.size:
            scores[label] = max(0.0, float(np.sort(own)[-nearest:].mean()))
    return scores

"""Sorting held-out sentences by the shipped classifier, and by simpler ways in the same run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from aico_memory.domain.feedback.classifier import FeedbackClassifier
from aico_memory.domain.feedback.phrases import CATEGORIES, NONE, Phrase
from aico_memory.domain.text_regression.grams import Floats
from aico_memory.models.embedder import Embedder

OLDER_THRESHOLD = 0.6
THRESHOLDS = tuple(round(0.02 * step, 2) for step in range(50))
_BATCH = 64


@dataclass(slots=True)
class Tally:
    """Right answers by language and category, and what was answered instead."""

    asked: Counter[tuple[str, str]] = field(default_factory=Counter)
    right: Counter[tuple[str, str]] = field(default_factory=Counter)
    # (language, category, answer)
    answers: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def accuracy(self, language: str = "", category: str = "") -> float:
        """Share of right answers of a language and a category; "" means all."""
        keys = [key for key in self.asked if language in ("", key[0]) and category in ("", key[1])]
        return sum(self.right[key] for key in keys) / max(1, sum(self.asked[key] for key in keys))


@dataclass(frozen=True, slots=True)
class Outcome:
    """Tallies by way; the threshold at which the centroid does best; how sure the classifier is of what is right."""

    tallies: Mapping[str, Tally]
    best_threshold: float
    told_languages: float
    # Of what is acted on at the configured threshold: share that is right, and share of complaints that are reached.
    precision: float
    reached: float


def run_feedback(
    phrases: Sequence[Phrase], sentences: Sequence[Phrase], classifier: FeedbackClassifier, embedder: Embedder,
    threshold: float, progress: Callable[[str], None],
) -> Outcome:  # fmt: skip
    """Every sentence by every way; the language of a sentence is not told."""
    progress("embedding the sentences")
    vectors = _embedded(embedder, [one.text for one in sentences])
    heard = _embedded(embedder, [classifier.heard(one.text) or one.text for one in sentences])
    fused = [classifier.sort(one.text, "", vector, embedder.fingerprint) for one, vector in zip(sentences, heard, strict=True)]
    progress("the spelling alone")
    spelled = [classifier.sort(one.text).category for one in sentences]
    progress("the English centroid")
    nearest, similar = _centroid_answers(phrases, embedder, vectors)
    at = {limit: [name if cosine >= limit else NONE for name, cosine in zip(nearest, similar, strict=True)]
          for limit in (*THRESHOLDS, OLDER_THRESHOLD)}  # fmt: skip
    english = [one for one in sentences if one.language == "en"] or sentences
    chosen = [one.language == english[0].language for one in sentences]
    best = max(THRESHOLDS, key=lambda limit: _tally(sentences, at[limit], chosen).accuracy())
    tallies = {
        "classifier": _tally(sentences, [one.category for one in fused]),
        "n-grams alone": _tally(sentences, spelled),
        f"English centroid at {OLDER_THRESHOLD}": _tally(sentences, at[OLDER_THRESHOLD]),
        "English centroid at its best": _tally(sentences, at[best]),
    }
    acted = [
        (name == one.category, 1)
        for one, found in zip(sentences, fused, strict=True)
        for name in CATEGORIES
        if name != NONE and found.scores[name] >= (threshold if found.threshold is None else found.threshold)
    ]
    complaints = sum(one.category != NONE for one in sentences)
    right = sum(hit for hit, _ in acted)
    told = sum(one.language == found.language for one, found in zip(sentences, fused, strict=True)) / len(sentences)
    return Outcome(tallies, best, told, right / max(1, len(acted)), right / max(1, complaints))


def _centroid_answers(phrases: Sequence[Phrase], embedder: Embedder, vectors: Floats) -> tuple[list[str], Floats]:
    """The nearest complaint's centroid of the English phrases, and its cosine: the older design."""
    complaints = [name for name in CATEGORIES if name != NONE]
    centroids = []
    for name in complaints:
        texts = [one.text for one in phrases if (one.language, one.category) == ("en", name)]
        middle = _embedded(embedder, texts).mean(axis=0)
        centroids.append(middle / np.linalg.norm(middle))
    cosines = vectors @ np.stack(centroids).T
    return [complaints[place] for place in cosines.argmax(axis=1)], cosines.max(axis=1)


def _tally(sentences: Sequence[Phrase], answers: Sequence[str], wanted: Sequence[bool] = ()) -> Tally:
    tally = Tally()
    for place, (one, answer) in enumerate(zip(sentences, answers, strict=True)):
        if wanted and not wanted[place]:
            continue
        tally.asked[one.language, one.category] += 1
        tally.right[one.language, one.category] += answer == one.category
        tally.answers[one.language, one.category, answer] += 1
    return tally


def _embedded(embedder: Embedder, texts: Sequence[str]) -> Floats:
    return np.vstack([embedder.embed(texts[start : start + _BATCH]) for start in range(0, len(texts), _BATCH)])

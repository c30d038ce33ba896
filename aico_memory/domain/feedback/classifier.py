"""Feedback text in any language to chances of six categories: spelling and embedding, weighed by what the model speaks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from aico_memory.domain.feedback.length import Length
from aico_memory.domain.feedback.meaning import Meaning
from aico_memory.domain.feedback.negation import Negation
from aico_memory.domain.feedback.phrases import CATEGORIES, NONE
from aico_memory.domain.feedback.spelling import Spelling
from aico_memory.domain.text_regression.grams import Floats

SPELLING: Final = "spelling"
# What a plain statement of length weighs, in the logarithm of chances: as much for the one complaint as against its opposite.
PLAIN: Final = 4.0
_LONG: Final = CATEGORIES.index("too_verbose")
_SHORT: Final = CATEGORIES.index("too_brief")


@dataclass(frozen=True, slots=True)
class Sorted:
    """The chances of all categories (0..1, sum 1), the language they were read in, and which models answered."""

    scores: Mapping[str, float]
    language: str
    answered_by: str
    # Chance from which on a complaint counts, calibrated for the model that answered; None where the spelling did alone.
    threshold: float | None = None

    @property
    def category(self) -> str:
        """The likeliest; the first of CATEGORIES among equals."""
        return max(CATEGORIES, key=self.scores.__getitem__)


def matching(scores: Mapping[str, float], threshold: float) -> tuple[str, ...]:
    """The complaints that are at least this likely; several may be, or none."""
    return tuple(name for name in CATEGORIES if name != NONE and scores.get(name, 0.0) >= threshold)


class FeedbackClassifier:
    """Holds no state between texts; one instance may be used by several threads."""

    def __init__(
        self,
        spelling: Spelling,
        meanings: Mapping[str, Meaning],
        sharpness: float,
        negations: Mapping[str, Negation] | None = None,
        lengths: Mapping[str, Length] | None = None,
    ) -> None:
        self._spelling = spelling
        self._meanings = meanings
        # By language; a language without a rule is sorted as it stands.
        self._negations = negations or {}
        self._lengths = lengths or {}
        # Of the spelling alone.
        self._sharpness = sharpness

    def lack_of(self, fingerprint: str) -> str:
        """What keeps this embedding model from being asked: no weights, or no threshold of its own; "" where nothing does."""
        meaning = self._meanings.get(fingerprint)
        if meaning is None:
            return "nothing was trained for it"
        return "" if meaning.threshold is not None else "its weights hold no threshold"

    def heard(self, text: str, language: str = "") -> str:
        """What of a text is sorted, and is to be embedded: all but the clauses that deny a complaint; "" where all do.

        `language`: as in `sort`.
        """
        return self._left(text, self._language(text, language))

    def sort(self, text: str, language: str = "", vector: Floats | None = None, fingerprint: str = "") -> Sorted:
        """The chances of a text. `language`: ISO 639-1, "" or an unknown one: guessed by the spelling.

        `vector`: the embedding of what is `heard` of the text, of unit length, by the model of `fingerprint`; without
        one, or for a model that nothing was trained or calibrated for, the spelling alone answers: no model counts by
        another's threshold. What holds no letter says nothing ("10/10" is no complaint), and no more does what only
        denies a complaint ("not too long at all").
        """
        if not _has_letter(text):
            return _nothing(language)
        known = self._language(text, language)
        text = self._left(text, known)
        if not _has_letter(text):
            return _nothing(known)
        scores, sharpness, answered_by, threshold = self._spelling.scores(text), self._sharpness, SPELLING, None
        meaning = self._meanings.get(fingerprint)
        if vector is not None and meaning is not None and meaning.threshold is not None:
            voice = meaning.voice(known)
            scores = scores + voice.share * voice.linear.scores(vector)
            sharpness, answered_by, threshold = voice.sharpness, f"{SPELLING} + {meaning.model}", meaning.threshold
        chances = softmax(scores + self._plain(text, known) / sharpness, sharpness)
        named = {name: float(chance) for name, chance in zip(CATEGORIES, chances, strict=True)}
        return Sorted(named, known, answered_by, threshold)

    def _language(self, text: str, language: str) -> str:
        return language if language in self._spelling.languages else self._spelling.language(text)

    def _plain(self, text: str, language: str) -> Floats:
        """What a text says plainly of the length, by category: some for it and as much against its opposite."""
        found = np.zeros(len(CATEGORIES), dtype=np.float32)
        rule = self._lengths.get(language)
        if rule is not None:
            told = rule.told(text)
            found[_LONG], found[_SHORT] = PLAIN * told.part * told.direction, -PLAIN * told.part * told.direction
        return found

    def _left(self, text: str, language: str) -> str:
        rule = self._negations.get(language)
        return text if rule is None else rule.left(text)


def _nothing(language: str) -> Sorted:
    return Sorted({name: float(name == NONE) for name in CATEGORIES}, language, SPELLING)


def _has_letter(text: str) -> bool:
    return any(letter.isalpha() for letter in text)


def softmax(scores: Floats, sharpness: float) -> Floats:
    """exp(sharpness · score) over its sum, along the last axis."""
    powers = np.exp(sharpness * (scores - scores.max(axis=-1, keepdims=True)))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True), dtype=np.float32)

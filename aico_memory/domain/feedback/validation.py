"""Choosing how spelling and embedding are weighed, by what they say of phrases they were not trained on.

Near-duplicates never stand on both sides: phrases that are spelled alike, in whichever language, are one group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from aico_memory.domain.feedback.classifier import softmax
from aico_memory.domain.feedback.meaning import Linear, Meaning, Voice, empty_linear, fit_linear
from aico_memory.domain.feedback.phrases import CATEGORIES, NONE, Phrase
from aico_memory.domain.feedback.spelling import Spelling
from aico_memory.domain.text_regression.grams import Floats, Grams

FOLDS: Final = 6
# Cosine of the spelling from which two phrases are one group.
ALIKE: Final = 0.6
SHARES: Final = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8)
THRESHOLDS: Final = tuple(round(0.05 + 0.01 * step, 2) for step in range(91))
SHARPNESSES: Final = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.0)
_BLOCK: Final = 512
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Crossed:
    """Scores of every phrase by models that saw neither it nor its group; each of shape (phrases, categories)."""

    spelling: Floats
    spoken: Floats
    foreign: Floats


@dataclass(frozen=True, slots=True)
class Acting:
    """What a threshold leads to: share of what is acted on that is right, and share of the complaints that are reached."""

    threshold: float
    precision: float
    reached: float


@dataclass(frozen=True, slots=True)
class Figures:
    """Right answers among phrases that were left out: share of them, and their mean -ln(chance)."""

    accuracy: float
    loss: float


def cross_validate(
    phrases: Sequence[Phrase], vectors: Floats, languages: Sequence[str], spelling_penalty: float, penalty: float
) -> Crossed:
    """Scores by leaving groups out, in FOLDS parts. `vectors`: (phrases, dimension); `languages`: those of the model."""
    folds = groups(phrases) % FOLDS
    speaks = spoken_mask(phrases, languages)
    shape = (len(phrases), len(CATEGORIES))
    found = Crossed(np.zeros(shape, np.float32), np.zeros(shape, np.float32), np.zeros(shape, np.float32))
    for fold in range(FOLDS):
        out = folds == fold
        places = np.flatnonzero(out).tolist()
        if not places:
            continue
        spelling = Spelling([phrase for phrase, left in zip(phrases, out, strict=True) if not left], spelling_penalty)
        found.spelling[places] = np.stack([spelling.scores(phrases[place].text) for place in places])
        for scores, trained in ((found.spoken, speaks), (found.foreign, ~speaks)):
            scores[places] = linear_of(phrases, vectors, trained & ~out, penalty).scores(vectors[places])
    return found


def linear_of(phrases: Sequence[Phrase], vectors: Floats, wanted: Mask, penalty: float) -> Linear:
    """The regression on the wanted phrases; says nothing where there are none."""
    if not wanted.any():
        return empty_linear(vectors.shape[1])
    return fit_linear(vectors[wanted], [phrase for phrase, kept in zip(phrases, wanted, strict=True) if kept], penalty)


def spoken_mask(phrases: Sequence[Phrase], languages: Sequence[str]) -> Mask:
    """Which phrases are in a language of the model; no languages named: all are."""
    return np.array([not languages or phrase.language in languages for phrase in phrases])


def choose(spelling: Floats, meaning: Floats, truth: npt.NDArray[np.int64]) -> tuple[float, float, Figures]:
    """(share, sharpness) with the least loss, and the figures they reach. Shapes (n, k), (n, k), (n,)."""
    best = min(
        ((share, sharp, figures(spelling + share * meaning, sharp, truth)) for share in SHARES for sharp in SHARPNESSES),
        key=lambda one: one[2].loss,
    )
    return best


def figures(scores: Floats, sharpness: float, truth: npt.NDArray[np.int64]) -> Figures:
    """How right the scores are. Shapes (n, k), (n,)."""
    chances = softmax(scores, sharpness)
    right = float((scores.argmax(axis=1) == truth).mean())
    return Figures(round(right, 4), round(float(-np.log(chances[np.arange(len(truth)), truth] + 1e-9).mean()), 4))


def train(
    phrases: Sequence[Phrase], vectors: Floats, crossed: Crossed, fingerprint: str, model: str, languages: Sequence[str],
    penalty: float,
) -> tuple[Meaning, dict[str, Figures]]:  # fmt: skip
    """The voices of a model, trained on all phrases and weighed by the crossed scores; figures by voice."""
    truth = truth_of(phrases)
    speaks = spoken_mask(phrases, languages)
    voices: dict[str, Voice] = {}
    reached: dict[str, Figures] = {}
    for name, mask, scores in (("spoken", speaks, crossed.spoken), ("foreign", ~speaks, crossed.foreign)):
        if mask.any():
            share, sharpness, reached[name] = choose(crossed.spelling[mask], scores[mask], truth[mask])
            voices[name] = Voice(linear_of(phrases, vectors, mask, penalty), share, sharpness)
    return Meaning(fingerprint, model, tuple(languages), voices["spoken"], voices.get("foreign")), reached


def calibrate(phrases: Sequence[Phrase], crossed: Crossed, meaning: Meaning, wanted: float) -> tuple[Meaning, Acting, Acting]:
    """The weights with their threshold, what it reaches, and what the thresholds of each half reach on the other half.

    All on phrases that were left out; those that are spelled alike are in one half.
    """
    truth, speaks = truth_of(phrases), spoken_mask(phrases, meaning.languages)
    chances = _chances(crossed.spelling, crossed.spoken, meaning.spoken)
    if meaning.foreign is not None:
        chances = np.where(speaks[:, None], chances, _chances(crossed.spelling, crossed.foreign, meaning.foreign))
    half = groups(phrases) % 2 == 0
    both = [
        acting(chances[other], truth[other], threshold_of(chances[one], truth[one], wanted))
        for one, other in ((half, ~half), (~half, half))
    ]
    held_out = Acting(
        *(round(sum(getattr(one, name) for one in both) / 2, 4) for name in ("threshold", "precision", "reached"))
    )
    found = acting(chances, truth, threshold_of(chances, truth, wanted))
    return replace(meaning, threshold=found.threshold), found, held_out


def threshold_of(chances: Floats, truth: npt.NDArray[np.int64], wanted: float) -> float:
    """The least of THRESHOLDS from which on `wanted` (0..1) of what is acted on is right, else the one that is right most.

    Shapes (n, k), (n,).
    """
    every = [acting(chances, truth, threshold) for threshold in THRESHOLDS]
    enough = [one for one in every if one.precision >= wanted]
    return min(one.threshold for one in enough) if enough else max(every, key=lambda one: one.precision).threshold


def acting(chances: Floats, truth: npt.NDArray[np.int64], threshold: float) -> Acting:
    """Of every complaint that is at least that likely. Shapes (n, k), (n,)."""
    complaints = [place for place, name in enumerate(CATEGORIES) if name != NONE]
    acted = chances[:, complaints] >= threshold
    right = int((acted & (truth[:, None] == complaints)).sum())
    of_them = int(np.isin(truth, complaints).sum())
    return Acting(threshold, round(right / max(1, int(acted.sum())), 4), round(right / max(1, of_them), 4))


def _chances(spelling: Floats, meaning: Floats, voice: Voice) -> Floats:
    return softmax(spelling + voice.share * meaning, voice.sharpness)


def truth_of(phrases: Sequence[Phrase]) -> npt.NDArray[np.int64]:
    """Place of each phrase's category in CATEGORIES."""
    return np.array([CATEGORIES.index(phrase.category) for phrase in phrases])


def groups(phrases: Sequence[Phrase]) -> npt.NDArray[np.int64]:
    """A number for each phrase, the same for those that are spelled alike; numbered in the order of their first."""
    grams = Grams([phrase.text for phrase in phrases])
    first = list(range(len(phrases)))

    def root(place: int) -> int:
        while first[place] != place:
            place = first[place]
        return place

    for start in range(0, len(phrases), _BLOCK):
        block = grams.rows.part(start, start + _BLOCK).dense()
        for place in range(start, len(phrases), _BLOCK):
            other = grams.rows.part(place, place + _BLOCK).dense()
            for one, two in np.argwhere(block @ other.T > ALIKE):
                low, high = sorted((root(start + int(one)), root(place + int(two))))
                first[high] = low
    numbers: dict[int, int] = {}
    return np.array([numbers.setdefault(root(place), len(numbers)) for place in range(len(phrases))])

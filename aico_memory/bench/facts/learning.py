"""Fitting the reader: Adam (Kingma & Ba 2015) over the negative log-likelihood of a conditional logit with a hidden layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aico_memory.bench.facts.reading import Sample, Table, table_of
from aico_memory.domain.recall.reading.reader import Floats, ReaderWeights, pick

_FIRST, _SECOND, _TINY = 0.9, 0.999, 1e-8
# Added to the spread of each clue, so that one that is nearly always the same stays small.
_LEAST_SPREAD = 1e-2
# Place of the part that is not penalised.
_BIAS = 2


@dataclass(frozen=True, slots=True)
class Fitting:
    """Hidden units, L2 penalty, steps, rate and dropout; the weight of the rules' answer at the end."""

    hidden: int = 32
    penalty: float = 3e-3
    steps: int = 250
    rate: float = 0.02
    dropout: float = 0.2
    trust: float = 1.0


def fit(table: Table, weights: Floats, fitting: Fitting, rng: np.random.Generator) -> ReaderWeights:
    """Weights that make right options likely; `weights` (samples,) says how much each sample counts."""
    scale = table.clues.std(axis=0) + np.float32(_LEAST_SPREAD)
    clues = table.clues / scale
    rows, count = clues.shape
    lengths = np.diff(np.append(table.starts, rows))
    each = np.repeat(weights / weights.sum(), lengths).astype(np.float32)
    parts: list[Floats] = [
        np.zeros(count, np.float32),
        rng.normal(0, 0.05, (count, fitting.hidden)).astype(np.float32),
        np.zeros(fitting.hidden, np.float32),
        rng.normal(0, 0.1, fitting.hidden).astype(np.float32),
    ]
    firsts, seconds = [np.zeros_like(part) for part in parts], [np.zeros_like(part) for part in parts]
    for step in range(1, fitting.steps + 1):
        mask = rng.random((rows, fitting.hidden), dtype=np.float32) >= fitting.dropout
        kept = mask.astype(np.float32) / np.float32(1 - fitting.dropout)
        gradients = _gradients(clues, table, parts, each, lengths, kept)
        for place, gradient in enumerate(gradients):
            slope = gradient if place == _BIAS else gradient + 2 * fitting.penalty * parts[place]
            firsts[place] += (1 - _FIRST) * (slope - firsts[place])
            seconds[place] += (1 - _SECOND) * (slope * slope - seconds[place])
            move = (firsts[place] / (1 - _FIRST**step)) / (np.sqrt(seconds[place] / (1 - _SECOND**step)) + _TINY)
            parts[place] = parts[place] - np.float32(fitting.rate) * move
    direct, hidden, bias, out = parts
    return ReaderWeights(table.names, scale, direct, hidden, bias, out, fitting.trust)


def _gradients(
    clues: Floats, table: Table, parts: Sequence[Floats], each: Floats, lengths: np.ndarray, kept: Floats
) -> list[Floats]:
    """Of the negative log-likelihood, in the order of the parts: direct, hidden, bias, out."""
    direct, hidden, bias, out = parts
    inner = clues @ hidden + bias
    active = np.maximum(inner, 0) * kept
    scores = clues @ direct + active @ out
    chances = _softmax(scores, table.starts, lengths)
    hits = chances * table.right
    within = hits / np.repeat(np.maximum(np.add.reduceat(hits, table.starts), 1e-12), lengths)
    outward = ((chances - within) * each).astype(np.float32)
    inward = np.outer(outward, out) * kept * (inner > 0)
    return [clues.T @ outward, clues.T @ inward, inward.sum(axis=0), active.T @ outward]


def _softmax(scores: Floats, starts: np.ndarray, lengths: np.ndarray) -> Floats:
    shifted = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), lengths))
    return np.asarray(shifted / np.repeat(np.add.reduceat(shifted, starts), lengths), dtype=np.float32)


def shares(samples: Sequence[Sample], weights: ReaderWeights) -> dict[str, float]:
    """Right answers of the rules alone and with the reader, as shares."""
    right = 0
    for one in samples:
        table = table_of([one], weights.names)
        place, _ = pick(one.values, one.ruled, weights.scores(table.clues), weights)
        right += one.right[place]
    count = max(1, len(samples))
    ruled = sum(one.ruled_right for one in samples)
    return {"questions": len(samples), "rules": round(ruled / count, 4), "reader": round(right / count, 4)}

"""Learning the weights of a ranking profile: listwise logistic loss, weights of evidence never negative.

Cao et al. 2007 (ListNet, top one): the loss of a question is the cross entropy between its right rows and
the softmax of all rows' scores. Of a question's many wrong rows only some are kept; the drawn ones stand for
the rest by an offset of ln(1/share), so that the loss stays that of the whole list in expectation.
Solved by accelerated projected gradients (Beck, Teboulle 2009) over standardised features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aico_memory.domain.logistic import fit_logistic
from aico_memory.domain.retrieval.evidence import Floats
from aico_memory.domain.retrieval.features import EVIDENCE, NAMES

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows of one question: features, which are right, and the log of how many rows each stands for."""

    features: Floats
    right: npt.NDArray[np.intp]
    offsets: Floats


@dataclass(frozen=True, slots=True)
class Learned:
    """Weights by feature for features as they are (not standardised), and scale and offset of the score."""

    weights: dict[str, float]
    scale: float
    offset: float
    loss: float


def thinned(
    features: Floats, right: Sequence[int], hardest: npt.NDArray[np.intp], drawn: int, rng: np.random.Generator
) -> Sample:
    """The right rows, the `hardest` wrong ones and `drawn` others at random."""
    sure = np.unique(np.concatenate([np.asarray(right, dtype=np.intp), hardest]))
    rest = np.setdiff1d(np.arange(len(features)), sure)
    some = rng.choice(rest, min(drawn, len(rest)), replace=False)
    kept = np.concatenate([sure, some])
    stands_for = np.log(max(len(rest), 1) / max(len(some), 1))
    offsets = np.concatenate([np.zeros(len(sure)), np.full(len(some), stands_for)]).astype(np.float32)
    return Sample(features[kept], np.searchsorted(sure, np.asarray(right, dtype=np.intp)), offsets)


def learn(samples: Sequence[Sample], names: Sequence[str], ridge: float, rounds: int) -> Learned:
    """The weights of these features; `ridge` on standardised weights, `rounds` of gradient steps at most."""
    columns = [NAMES.index(name) for name in names]
    values = np.concatenate([sample.features[:, columns] for sample in samples]).astype(np.float64)
    offsets = np.concatenate([sample.offsets for sample in samples]).astype(np.float64)
    stands_for = np.exp(offsets)
    mean = np.average(values, axis=0, weights=stands_for)
    deviation = np.sqrt(np.average((values - mean) ** 2, axis=0, weights=stands_for)) + 1e-9
    problem = _Problem(((values - mean) / deviation).astype(np.float32), offsets, samples)
    least = np.array([0.0 if name in EVIDENCE else -np.inf for name in names])
    weights, loss = _descend(problem, least, ridge, rounds)
    raw = weights / deviation
    scale, offset = _calibrated(values @ raw, stands_for, problem.target > 0)
    return Learned(dict(zip(names, map(float, raw), strict=True)), scale, offset, loss)


class _Problem:
    """Loss and gradient over all questions at once."""

    def __init__(self, values: Floats, offsets: Numbers, samples: Sequence[Sample]) -> None:
        self.values, self.offsets, self.questions = values, offsets, len(samples)
        sizes = np.array([len(sample.features) for sample in samples])
        self.starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self.owner = np.repeat(np.arange(len(samples)), sizes)
        self.target = np.zeros(len(values))
        for start, sample in zip(self.starts, samples, strict=True):
            self.target[start + sample.right] = 1.0 / len(sample.right)

    def at(self, weights: Numbers) -> tuple[float, Numbers]:
        scores = (self.values @ weights.astype(np.float32)).astype(np.float64)
        shifted = scores + self.offsets
        top = np.maximum.reduceat(shifted, self.starts)
        lifted = np.exp(shifted - top[self.owner])
        total = np.add.reduceat(lifted, self.starts)
        loss = float((top + np.log(total)).sum() - self.target @ scores) / self.questions
        wrong = lifted / total[self.owner] - self.target
        return loss, (self.values.T @ wrong.astype(np.float32)).astype(np.float64) / self.questions


def _descend(problem: _Problem, least: Numbers, ridge: float, rounds: int) -> tuple[Numbers, float]:
    weights = lead = np.zeros(problem.values.shape[1])
    momentum, step, loss = 1.0, 1.0, np.inf
    for _ in range(rounds):
        here, slope = problem.at(lead)
        here += ridge * float(lead @ lead)
        slope = slope + 2 * ridge * lead
        while True:
            moved = np.maximum(lead - step * slope, least)
            change = moved - lead
            there = problem.at(moved)[0] + ridge * float(moved @ moved)
            if there <= here + float(slope @ change + change @ change / (2 * step)) + 1e-12:
                break
            step /= 2
        if there > loss:
            # Momentum overshot: start again from the best point.
            momentum, lead = 1.0, weights
            if step < 1e-6:
                break
            step *= 0.7
            continue
        done = loss - there < 1e-7
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        lead = moved + (momentum - 1) / following * (moved - weights)
        weights, loss, momentum = moved, there, following
        if done:
            break
    return weights, float(loss)


def _calibrated(totals: Numbers, stands_for: Numbers, right: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """Scale and offset of a logistic curve from totals to the share of right rows (Platt 1999)."""
    centre, spread = float(totals.mean()), float(totals.std()) + 1e-9
    inputs = np.stack([(totals - centre) / spread, np.ones(len(totals))], axis=1)
    found = fit_logistic(inputs, right, stands_for, np.zeros(2), np.array([1.0, 0.0]))
    scale = float(found[0] / spread)
    return scale, float(found[1] - scale * centre)

"""Okapi BM25 over dense counts, and the share of a question's information that a text holds.

Robertson, Zaragoza 2009. The inverse document frequency is ln(1 + (N - df + 0.5)/(df + 0.5)), which
is never negative. Scores are divided by the sum over the question's words, so that one of 1 means:
every word is there about as often as in an average text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from aico_memory.domain.retrieval.evidence import Counts, Flags, Floats

K1 = 1.2
B = 0.75


class Scored(NamedTuple):
    """`bm25`: weighted by frequency and length; `coverage`: the share of the question's information, 0..1."""

    bm25: Floats
    coverage: Floats


def scored(counts: Counts, lengths: Floats, visible: Flags) -> Scored:
    """Both scores for each row, shape (n,); `lengths` in words. Rows that are not visible count for nothing."""
    total = int(visible.sum())
    often, weights = counts
    nothing = np.zeros(len(lengths), dtype=np.float32)
    if not len(often) or not total:
        return Scored(nothing, nothing)
    there = often > 0
    rare = (rarity(total, there.sum(axis=1)) * weights).astype(np.float32)
    information = float(rare.sum())
    if information <= 0.0:
        return Scored(nothing, nothing)
    share = rare / information
    saturated = often * np.float32(K1 + 1) / (often + penalties(lengths, float(lengths[visible].mean())))
    return Scored((share @ saturated).astype(np.float32), (share @ there.astype(np.float32)).astype(np.float32))


def rarity(total: int, holding: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
    """The inverse document frequency of words of which each stands in so many of `total` rows."""
    return np.asarray(np.log1p((total - holding + 0.5) / (holding + 0.5)), dtype=np.float64)


def penalties(lengths: Floats, average: float) -> Floats:
    """How often a word must stand in a row of this length to count half of what it can."""
    return (K1 * (1 - B + B * lengths / max(average, 1e-6))).astype(np.float32)

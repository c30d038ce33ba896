"""Okapi BM25 over dense counts, and the share of a question's information that a text holds.

Robertson, Zaragoza 2009. The inverse document frequency is ln(1 + (N - df + 0.5)/(df + 0.5)), which
is never negative. Scores are divided by the sum over the question's words, so that one of 1 means:
every word is there about as often as in an average text.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aico_memory.domain.retrieval.evidence import Counts, Flags, Floats

K1 = 1.2
B = 0.75


class Scored(NamedTuple):
    """`bm25`: weighted by frequency and length; `coverage`: the share of the question's information, 0..1."""

    bm25: Floats
    coverage: Floats


def scored(counts: Counts, lengths: Floats, visible: Flags) -> Scored:
    """Both scores for each row, shape (n,); `lengths` in words. Rows that are not visible count for nothing."""
    often, weights = counts
    rows = len(lengths)
    total = int(visible.sum())
    if not len(often) or not total:
        nothing = np.zeros(rows, dtype=np.float32)
        return Scored(nothing, nothing)
    there = often > 0
    holding = there.sum(axis=1)
    rarity = (np.log1p((total - holding + 0.5) / (holding + 0.5)) * weights).astype(np.float32)
    information = float(rarity.sum())
    if information <= 0.0:
        nothing = np.zeros(rows, dtype=np.float32)
        return Scored(nothing, nothing)
    average = max(float(lengths[visible].mean()), 1e-6)
    penalty = (K1 * (1 - B + B * lengths / average)).astype(np.float32)
    share = rarity / information
    saturated = often * np.float32(K1 + 1) / (often + penalty)
    return Scored((share @ saturated).astype(np.float32), (share @ there.astype(np.float32)).astype(np.float32))

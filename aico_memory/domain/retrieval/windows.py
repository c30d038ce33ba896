"""BM25 of rows and of the turns around them, word by word: so what is computed on stays near, and absent words cost nothing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aico_memory.domain.retrieval.bm25 import K1, rarity
from aico_memory.domain.retrieval.evidence import Counts, Floats, Rows, windows

# A word that fewer than one row in so many has within reach is weighed there only; else that takes longer than it saves.
_FEW = 8
# Where no word tells anything there is nothing to be shared out.
_LEAST = 1e-9


class Around(NamedTuple):
    """Scores as `bm25.scored` defines them."""

    # [reach]: of each row and so many turns of its session before and after it.
    bm25: list[Floats]
    # Of the rows alone.
    coverage: Floats


def around(words: Counts, rows: Rows, reach: int) -> Around:
    """What the words say of each row and its surroundings; rows that are not visible hold none of them."""
    bm25 = np.zeros((reach + 1, len(rows)), dtype=np.float32)
    coverage, information = np.zeros(len(rows), dtype=np.float32), np.zeros(reach + 1)
    for often, weight in zip(*words, strict=True):
        seen = often * rows.visible
        # Absent words count by how rare they are.
        counted = [seen, *windows(seen, rows, reach)] if seen.any() else []
        holding = [int(np.count_nonzero(count > 0)) for count in counted] or [0] * (reach + 1)
        rare = rarity(rows.total, np.array(holding, dtype=np.intp)) * float(weight)
        information += rare
        few = np.flatnonzero(counted[-1]) if 0 < _FEW * holding[-1] < len(rows) else None
        for at, count in enumerate(counted):
            if few is None:
                bm25[at] += _share(count, rows.penalty(at), rare[at])
            else:
                bm25[at][few] += _share(count[few], rows.penalty(at)[few], rare[at])
        if counted:
            coverage += (seen > 0) * np.float32(rare[0])
    heard = np.maximum(information, _LEAST).astype(np.float32)
    return Around(list(bm25 / heard[:, None]), coverage / heard[0])


def _share(count: Floats, penalty: Floats, rare: float) -> Floats:
    """What one word gives to each row."""
    share = count + penalty
    np.divide(count, share, out=share)
    share *= np.float32(rare * (K1 + 1))
    return share

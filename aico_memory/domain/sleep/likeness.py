"""Which of many vectors lie close to each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]


def close_pairs(ids: Sequence[bytes], vectors: Floats, first: int, last: int, above: float) -> list[tuple[bytes, bytes, float]]:
    """Pairs of a row in [first, last) with a later row whose cosine, in hundredths, is above.

    `vectors`: shape (n, d), each of length 1, in the order of the ids. Over all ranges every pair is looked at once.
    """
    near = np.round(vectors[first:last] @ vectors[first:].T, 2)
    found = zip(*np.nonzero(near > np.float32(above)), strict=True)
    return [
        (ids[first + row], ids[first + column], round(float(near[row, column]), 2)) for row, column in found if column > row
    ]

"""Port: what turns texts into vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]


class Embedder(Protocol):
    """Texts in, unit-length rows out, in the order of the texts; thread-safe."""

    @property
    def model(self) -> str:
        """Name of the model."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    @property
    def fingerprint(self) -> str:
        """`model|dimension|hash of the weights`: vectors of two fingerprints are not comparable."""

    @property
    def languages(self) -> tuple[str, ...]:
        """ISO 639-1 codes the model was trained for; empty: every language."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row of unit length per text, shape (len(texts), dimension), float32."""

    def close(self) -> None:
        """Free the model."""


def normalise(rows: Vectors) -> Vectors:
    """Rows scaled to unit length; a row of zeros becomes the first axis, so that every row has length one."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    empty = lengths[:, 0] < 1e-12
    if empty.any():
        rows = rows.copy()
        rows[empty] = 0
        rows[empty, 0] = 1
        lengths[empty] = 1
    return np.asarray(rows / lengths, dtype=np.float32)

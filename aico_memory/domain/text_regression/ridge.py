"""Ridge regression (Hoerl & Kennard 1970): on sparse rows by conjugate gradients, on dense ones directly."""

from __future__ import annotations

from typing import Final

import numpy as np

from aico_memory.domain.text_regression.grams import Floats, Rows

# Residual, as a part of the target's length, at which the search for a solution ends; and its most steps.
_CLOSE: Final = 5e-3
_STEPS: Final = 100


def sparse_ridge(rows: Rows, targets: Floats, penalty: float) -> Floats:
    """Weights of shape (width, k) for targets of shape (count, k).

    Solved in the dual, (X Xᵀ + penalty) a = y, w = Xᵀ a, whose condition the penalty bounds (Hestenes & Stiefel 1952).
    What a row lacks to length 1 are features of its own; they count in the diagonal.
    """
    diagonal = penalty + 1 - rows.lengths()
    return np.stack([rows.transposed_times(_dual(rows, column, diagonal)) for column in targets.T], axis=1)


def dense_ridge(matrix: Floats, targets: Floats, penalty: float) -> Floats:
    """Weights of shape (d, k) for a matrix of shape (count, d) and targets of shape (count, k)."""
    inner = (matrix.T @ matrix).astype(np.float64) + penalty * np.eye(matrix.shape[1])
    return np.linalg.solve(inner, (matrix.T @ targets).astype(np.float64)).astype(np.float32)


def _dual(rows: Rows, target: Floats, diagonal: Floats) -> Floats:
    solution = np.zeros_like(target)
    residual = target.copy()
    direction = residual.copy()
    length = float(residual @ residual)
    enough = _CLOSE**2 * length
    for _ in range(_STEPS):
        if length <= enough:
            break
        image = rows.times(rows.transposed_times(direction)) + diagonal * direction
        step = np.float32(length / float(direction @ image))
        solution += step * direction
        residual -= step * image
        shorter = float(residual @ residual)
        direction = residual + np.float32(shorter / length) * direction
        length = shorter
    return solution

"""Logistic regression with weighted rows, by Newton's method (iteratively reweighted least squares)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

_ROUNDS = 60
_CLOSE, _DAMPING = 1e-9, 1e-6
# Log-odds beyond which a chance changes no more.
_FAR = 30


def fit_logistic(
    rows: Numbers, right: NDArray[np.float64] | NDArray[np.bool_], counts: Numbers, penalty: Numbers, start: Numbers
) -> Numbers:
    """Weights of shape (k,) for rows of shape (n, k) of which `right` (n,) came true.

    `counts` (n,): how much each row counts; `penalty` (k,): of the square of each weight; `start` (k,): where to begin.
    """
    weights = start
    for _ in range(_ROUNDS):
        chances = 1 / (1 + np.exp(-np.clip(rows @ weights, -_FAR, _FAR)))
        slope = rows.T @ (counts * (chances - right)) + penalty * weights
        curve = (rows * (counts * chances * (1 - chances))[:, None]).T @ rows + np.diag(penalty + _DAMPING)
        step = np.linalg.solve(curve, slope)
        weights = weights - step
        if float(np.abs(step).max()) < _CLOSE:
            break
    return weights

"""What a person has said of style in the posterior: where a statement holds, it stands in the place of the learned slope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aico_memory.domain.behavioral.dimensions import DIMENSIONS, NEUTRAL_VALUE
from aico_memory.domain.behavioral.evidence import ANY, WISH_SLOPE, Cell, Stated
from aico_memory.domain.behavioral.prior import TYPICAL_LENGTH, Floats, Prior
from aico_memory.domain.behavioral.situation import bucket_of

# The bucket of a cell that no longer tells its situation: what is said of single buckets does not hold there.
NOWHERE = -1


@dataclass(frozen=True, slots=True)
class Parts:
    """Styles on the scale [-1, 1], one a row, in situations: what statements take of them, a column each, and what is left."""

    styles: Floats
    taken: Floats
    left: Floats


class StatedSlopes:
    """Each statement is a slope of its own, told with an error; where it holds nothing else says how its dimension is liked.

    A statement of all situations holds in each bucket that has none of its own. A value of 0 or 1 is a slope of WISH_SLOPE
    prior standard deviations, 0.5 one of 0. The error is that of a wish which weighs as much as the statement.
    """

    def __init__(self, stated: Sequence[Stated], prior: Prior) -> None:
        self._prior = prior
        self._importance = np.asarray(prior.importance, dtype=np.float64)
        self._scale = (1.0 - prior.spread.nearness) / TYPICAL_LENGTH
        self._places = {(one.bucket, DIMENSIONS.index(one.dimension)): place for place, one in enumerate(stated)}
        self._said = sorted({dimension for _, dimension in self._places})
        dimensions = np.array([dimension for _, dimension in self._places], dtype=np.int64)
        full = WISH_SLOPE * np.sqrt(prior.spread.taste * self._scale * self._importance[dimensions])
        self.slopes: Floats = (np.array([one.value for one in stated]) - NEUTRAL_VALUE) / NEUTRAL_VALUE * full
        self.variances: Floats = full**2 / np.array([one.weight for one in stated])

    def __bool__(self) -> bool:
        return bool(self._places)

    def parts(self, styles: Floats, buckets: Sequence[int]) -> Parts:
        """Styles in the situations of these buckets, one a row."""
        if not self:
            return Parts(styles, styles[:, :0], styles)
        taken, left = np.zeros((len(styles), len(self.slopes))), styles.copy()
        for bucket in set(buckets):
            rows = np.flatnonzero(np.asarray(buckets) == bucket)
            for dimension in self._said:
                place = self._places.get((bucket, dimension), self._places.get((None, dimension)))
                if place is not None:
                    taken[rows, place] = styles[rows, dimension]
                    left[rows, dimension] = 0.0
        return Parts(styles, taken, left)

    def shift(self, parts: Parts, intents: Sequence[str]) -> Floats:
        """By what the prior mean changes: the stated slopes hold instead of what people like on the mean."""
        removed = parts.styles - parts.left
        found: Floats = parts.taken @ self.slopes - removed @ np.asarray(self._prior.taste, dtype=np.float64)
        for intent in set(intents):
            special = self._prior.taste_by_intent.get(intent)
            if special is not None:
                rows = np.flatnonzero([one == intent for one in intents])
                found[rows] -= removed[rows] @ np.asarray(special, dtype=np.float64)
        return found

    def covariance(self, one: Parts, other: Parts, variance: Floats | float) -> Floats:
        """What the covariance of the liking of styles changes by; `variance` is that of the liking that the two share."""
        both = (one.styles * self._importance) @ other.styles.T - (one.left * self._importance) @ other.left.T
        found: Floats = (one.taken * self.variances) @ other.taken.T - self._scale * variance * both
        return found


def buckets_of(cells: Sequence[Cell]) -> list[int]:
    """The bucket of each cell."""
    return [
        NOWHERE if ANY in (cell.sentiment, cell.time_of_day) else bucket_of(cell.intent, cell.sentiment, cell.time_of_day)
        for cell in cells
    ]

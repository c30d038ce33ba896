"""What is known of a scope's memories before a question comes, and how a question's words stand in them: plain arrays.

Rows are the memories of one scope in the order in which they were taken in. `n` is their number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Places = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]
NOBODY = -1


@dataclass(frozen=True, slots=True)
class Rows:
    """A scope's memories; every array has `n` entries."""

    # Words of the text, and runs of characters of these words.
    words: Floats
    characters: Floats
    # The turn before and after in the same session; `NOBODY` where there is none.
    before: Places
    after: Places
    # Number of the session, 0 … sessions - 1.
    session: Places
    sessions: int
    said_at_us: npt.NDArray[np.int64]
    # The text ends with a question; it holds one; it tells a time.
    ends_asking: Flags
    asks: Flags
    tells_time: Flags
    # 0..1 each.
    importance: Floats
    utility: Floats
    confidence: Floats
    # How often it was used.
    uses: Floats
    # False: it is not to be seen by this question, and says nothing of its neighbours.
    visible: Flags

    def __len__(self) -> int:
        return len(self.words)


class Counts(NamedTuple):
    """How often each of the question's words (or runs of characters) stands in each row, shape (words, n)."""

    often: Floats
    # What each of them counts, 1 unless it is a name that everybody uses.
    weights: Floats


class Span(NamedTuple):
    """A number per row of its surroundings."""

    before: Floats
    after: Floats


def neighbours(values: Floats, rows: Rows) -> Span:
    """The value of the row before and of the row after in the session; 0 where there is none. Last axis is rows."""
    return Span(_taken(values, rows.before), _taken(values, rows.after))


def widened(values: Floats, rows: Rows, reach: int) -> Floats:
    """The sum over the rows at most `reach` turns away in the session, itself included. Last axis is rows."""
    total = values.copy()
    earlier = later = values
    for _ in range(reach):
        earlier, later = _taken(earlier, rows.before), _taken(later, rows.after)
        total += earlier
        total += later
    return total


def best_of_session(values: Floats, rows: Rows) -> Floats:
    """The largest value in each row's session, shape (n,)."""
    best = np.full(rows.sessions, -np.inf, dtype=np.float32)
    np.maximum.at(best, rows.session, values)
    return best[rows.session]


def _taken(values: Floats, places: Places) -> Floats:
    found: Floats = np.where(places >= 0, values[..., np.maximum(places, 0)], np.float32(0))
    return found

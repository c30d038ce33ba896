"""What is known of each row of a scope, column by column, and the order in which turns stand beside each other."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from aico_memory.domain.retrieval.evidence import NOBODY, Flags, Positions
from aico_memory.stores.index.facet_columns import DTYPE

_TYPES: dict[str, npt.DTypeLike] = {
    "key": "i8", "session": "i4", "words": "f4", "characters": "f4", "turn": "?", "ends_asking": "?", "asks": "?",
    # Places of whoever said it and of its language among the scope's names; 0 where none is told.
    "speaker": "u4", "language": "u4",
    "tells_time": "?", "importance": "f4", "utility": "f4", "confidence": "f4", "uses": "f4", "alive": "?",
    # A session's turns in their order.
    "rank": "i4", **{name: DTYPE[name] for name in DTYPE.names or ()},
}  # fmt: skip


class Columns:
    """Arrays of one length by name, each in a piece of its own: a question reads few of them, and whole."""

    __slots__ = ("_by_name",)

    def __init__(self, rows: int) -> None:
        self._by_name: dict[str, npt.NDArray[Any]] = {name: np.zeros(rows, dtype=kind) for name, kind in _TYPES.items()}

    def __len__(self) -> int:
        return len(self._by_name["key"])

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self._by_name[name]

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in self._by_name.values())

    def first(self, rows: int) -> Columns:
        """The first `rows` of all, not copied."""
        found = Columns.__new__(Columns)
        found._by_name = {name: column[:rows] for name, column in self._by_name.items()}
        return found

    def grown(self, rows: int) -> Columns:
        """The same with room for `rows`."""
        found = Columns(rows)
        for name, column in self._by_name.items():
            found[name][: len(column)] = column
        return found

    def copy_row(self, place: int, other: Columns, from_place: int) -> None:
        """Every value of another's row."""
        for name, column in self._by_name.items():
            column[place] = other[name][from_place]


class Order(NamedTuple):
    """Turns conversation by conversation, then what is no turn. Never changed: another order is another one."""

    # The rows in that order, and where in it each row stands.
    places: Positions
    positions: Positions
    # The turn before it stands right before it.
    joined: Flags
    turns: int


def order_of(rows: Columns) -> Order:
    """The order of these rows, whose sessions and ranks are up to date."""
    turn, sessions = rows["alive"] & rows["turn"], rows["session"]
    turns = np.flatnonzero(turn)
    # Nearly in order already.
    turns = turns[np.argsort(sessions[turns].astype(np.int64) << 32 | rows["rank"][turns], kind="stable")]
    places = np.concatenate((turns, np.flatnonzero(~turn)))
    positions = np.empty_like(places)
    positions[places] = np.arange(len(places))
    joined = np.zeros(len(places), dtype=np.bool_)
    joined[1 : len(turns)] = sessions[turns[1:]] == sessions[turns[:-1]]
    return Order(places, positions, joined, len(turns))


def place_of(keys: npt.NDArray[np.int64], wanted: npt.NDArray[np.int64]) -> Positions:
    """Where each wanted key stands among `keys`; `NOBODY` where it does not."""
    if not len(keys):
        return np.full(len(wanted), NOBODY, dtype=np.intp)
    # Two indexes that took the same memories in have them in the same order, mostly in that of the keys.
    if len(keys) == len(wanted) and np.array_equal(keys, wanted):
        return np.arange(len(keys))
    rising = bool(np.all(keys[1:] > keys[:-1]))
    order = None if rising else np.argsort(keys, kind="stable")
    at = np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)
    at = at if order is None else order[at]
    return np.where(keys[at] == wanted, at, NOBODY)

"""Facets as numbers, for indexes that hold no text: columns of a matrix, fields of a Chroma record."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from aico_memory.domain.memory import KINDS, STATUSES, TIERS, Condition, Facets
from aico_memory.ids import stable_hash64

_SIGNED = (1 << 63) - 1
_NAMES: dict[str, tuple[str, ...]] = {"kind": KINDS, "tier": TIERS, "status": STATUSES}
DTYPE = np.dtype(
    [
        ("kind", "i2"), ("tier", "i2"), ("status", "i2"), ("session_id", "i8"), ("said_at_us", "i8"),
        ("valid_from_us", "i8"), ("valid_until_us", "i8"), ("recorded_at_us", "i8"), ("invalidated_at_us", "i8"),
    ]
)  # fmt: skip


@lru_cache(maxsize=4096)
def digest63(text: str) -> int:
    """A text as a non-negative 63-bit number; says nothing about the text."""
    return stable_hash64(text) & _SIGNED


def as_numbers(facets: Facets) -> tuple[int, ...]:
    """The facets in the order of `DTYPE`; names become places in their list (-1: unknown), the session its digest."""
    return (_code("kind", facets.kind), _code("tier", facets.tier), _code("status", facets.status),
            digest63(facets.session_id), *facets[4:])  # fmt: skip


def as_number(condition: Condition) -> Condition:
    """The condition over the numbers of `as_numbers`."""
    if condition.field in _NAMES:
        return condition._replace(value=tuple(_code(condition.field, name) for name in condition.value))
    if condition.field == "session_id":
        return condition._replace(value=tuple(digest63(session) for session in condition.value))
    return condition


class FacetColumns(Protocol):
    """Columns of `DTYPE` by name: one array of records, or one array each."""

    def __len__(self) -> int: ...

    def __getitem__(self, name: str, /) -> npt.NDArray[Any]: ...


def mask(wanted: Iterable[Condition], columns: FacetColumns) -> npt.NDArray[np.bool_]:
    """Which rows fulfil all conditions."""
    fulfilled = np.ones(len(columns), dtype=np.bool_)
    for condition in wanted:
        if condition.op == "any":
            fulfilled &= np.logical_or.reduce([mask([one], columns) for one in condition.value])
            continue
        field, op, value = as_number(condition)
        column = columns[field]
        if op == "in":
            fulfilled &= column == value[0] if len(value) == 1 else np.isin(column, value)
        elif op == "ge":
            fulfilled &= column >= value
        elif op == "le":
            fulfilled &= column <= value
        elif op == "gt":
            fulfilled &= column > value
        else:
            fulfilled &= column < value
    return fulfilled


def _code(field: str, name: str) -> int:
    # A name that this version does not know matches nothing.
    return _NAMES[field].index(name) if name in _NAMES[field] else -1

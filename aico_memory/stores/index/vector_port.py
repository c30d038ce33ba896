"""Port of the vector index, and of the truth it is built from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from aico_memory.domain.memory import Facets, Scope, View

Vector = npt.NDArray[np.float32]
# Keys of memories, and the cosine of each with a question.
Similarities = tuple[npt.NDArray[np.int64], Vector]


@dataclass(frozen=True, slots=True)
class VectorEntry:
    """One vector with what it may be filtered by; `key` is the memory's row, the same in every index."""

    key: int
    scope: Scope
    facets: Facets
    vector: Vector


class Neighbour(NamedTuple):
    """A memory near the question; `score` is the cosine similarity, -1 to 1."""

    key: int
    score: float


class VectorSource(Protocol):
    """The truth: vectors of one embedding fingerprint in the owner's store."""

    def size(self, scope: Scope | None = None) -> int:
        """How many vectors a scope has, or all scopes together."""

    def batches(self, scope: Scope | None, limit: int) -> Iterator[Sequence[VectorEntry]]:
        """All vectors of a scope (None: of all), `limit` at a time, by ascending key."""


class VectorIndex(Protocol):
    """Nearest neighbours by cosine among the memories that a view admits. Safe from many threads."""

    name: str

    def search(self, vector: Vector, view: View, limit: int) -> list[Neighbour]:
        """The `limit` nearest, best first; only from the scopes of the view."""

    def similarities(self, vectors: Sequence[Vector], view: View, limit: int) -> list[Similarities]:
        """For each vector its cosines with all that the view's scopes hold, or with the `limit` nearest that it admits."""

    def at_hand(self, keys: Sequence[int], scope: Scope) -> dict[int, Vector]:
        """Vectors of length 1, those of these keys of a scope that can be had without reading anything."""

    def upsert(self, entries: Sequence[VectorEntry]) -> None:
        """Take these in, or replace what stands under their keys."""

    def remove(self, scope: Scope, keys: Sequence[int]) -> None:
        """Forget these keys of a scope; unknown ones are no error."""

    def verify(self) -> list[str]:
        """What differs from the truth in number, in words; what differs is dropped or rebuilt."""

    def rebuild(self) -> None:
        """Drop everything and build it from the truth."""

    def status(self) -> dict[str, object]:
        """Sizes, for `aico-memory status`."""

    def close(self) -> None:
        """Give the memory back."""

    def drop(self) -> None:
        """Give the memory back and remove what lies on disk: the model is in use no more."""


def as_similarities(near: Sequence[Neighbour]) -> Similarities:
    """A list of neighbours as two arrays."""
    keys = np.array([one.key for one in near], dtype=np.int64)
    return keys, np.array([one.score for one in near], dtype=np.float32)


def unit(vector: npt.ArrayLike) -> Vector:
    """The vector as float32 with length 1; a zero vector stays zero."""
    array = np.asarray(vector, dtype=np.float32)
    length = float(np.linalg.norm(array))
    return array if length == 0.0 else array / np.float32(length)

"""Exact vector index: one float32 matrix a scope, read from the truth when a scope is first asked for."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock, RLock
from typing import Any

import numpy as np
import numpy.typing as npt

from aico_memory.domain.memory import Scope, View, conditions
from aico_memory.stores.index.facet_columns import DTYPE, as_numbers, mask
from aico_memory.stores.index.vector_port import Neighbour, Similarities, Vector, VectorEntry, VectorSource, unit

_FIRST_CAPACITY = 64
# Rows that stay in a core's own cache while several questions see them.
_PIECE = 512


class ExactVectorIndex:
    """Brute force over the scopes of the question, in a bounded amount of memory.

    The matrix of a scope is dropped when the bound is reached and read again
    when it is needed; a scope that alone exceeds the bound is answered all the same.
    """

    name = "exact"

    def __init__(self, source: VectorSource, cache_bytes: int, load_batch: int) -> None:
        self._source = source
        self._bound = cache_bytes
        self._load_batch = load_batch
        self._lock = Lock()
        self._matrices: OrderedDict[Scope, _Matrix] = OrderedDict()
        self._loads = 0

    def search(self, vector: Vector, view: View, limit: int) -> list[Neighbour]:
        wanted = conditions(view)
        question = unit(vector)
        found: list[Neighbour] = []
        for scope in dict.fromkeys(view.scopes):
            keys, vectors, columns = self._matrix(scope).snapshot()
            admitted = np.flatnonzero(mask(wanted, columns))
            if not len(admitted):
                continue
            scores = vectors @ question if len(admitted) == len(vectors) else vectors[admitted] @ question
            best = _best(scores, limit)
            found += (Neighbour(int(keys[admitted[at]]), float(scores[at])) for at in best)
        return sorted(found, key=lambda one: (-one.score, one.key))[:limit]

    def similarities(self, vectors: Sequence[Vector], view: View, limit: int) -> list[Similarities]:
        keys = [np.empty(0, dtype=np.int64)]
        scores = [np.empty((len(vectors), 0), dtype=np.float32)]
        questions = [unit(vector) for vector in vectors]
        for scope in dict.fromkeys(view.scopes):
            held, matrix, _ = self._matrix(scope).snapshot()
            if len(held):
                keys.append(held.copy())
                scores.append(_cosines(matrix, questions))
        together, cosines = np.concatenate(keys), np.concatenate(scores, axis=1)
        return [(together, row) for row in cosines]

    def at_hand(self, keys: Sequence[int], scope: Scope) -> dict[int, Vector]:
        matrix = self._matrices.get(scope)
        return {} if matrix is None else matrix.at_hand(keys)

    def upsert(self, entries: Sequence[VectorEntry]) -> None:
        by_scope: dict[Scope, list[VectorEntry]] = {}
        for entry in entries:
            by_scope.setdefault(entry.scope, []).append(entry)
        for scope, members in by_scope.items():
            matrix = self._matrices.get(scope)
            # A scope that nobody asks for is read when somebody does.
            if matrix is not None:
                matrix.upsert(members)
        self._keep_bound()

    def remove(self, scope: Scope, keys: Sequence[int]) -> None:
        matrix = self._matrices.get(scope)
        if matrix is not None:
            matrix.remove(keys)

    def verify(self) -> list[str]:
        found = []
        for scope, matrix in list(self._matrices.items()):
            have, truth = matrix.count(), self._source.size(scope)
            if have != truth:
                with self._lock:
                    self._matrices.pop(scope, None)
                found.append(f"a scope has {have} vectors indexed, {truth} stored")
        return found

    def size(self, scope: Scope) -> int | None:
        """Vectors of a scope that is in memory; None where it is not."""
        matrix = self._matrices.get(scope)
        return matrix.count() if matrix is not None and matrix.filled else None

    def status(self) -> dict[str, object]:
        matrices = list(self._matrices.values())
        return {
            "name": self.name, "scopes": len(matrices), "vectors": sum(matrix.count() for matrix in matrices),
            "bytes": sum(matrix.nbytes for matrix in matrices), "loads": self._loads,
        }  # fmt: skip

    def close(self) -> None:
        with self._lock:
            self._matrices.clear()

    def rebuild(self) -> None:
        # Each scope is read again by the next question.
        self.close()

    def drop(self) -> None:
        self.close()

    def _matrix(self, scope: Scope) -> _Matrix:
        with self._lock:
            matrix = self._matrices.get(scope)
            if matrix is None:
                matrix = self._matrices[scope] = _Matrix()
                self._loads += 1
            self._matrices.move_to_end(scope)
        if matrix.fill(self._source, scope, self._load_batch):
            self._keep_bound()
        return matrix

    def _keep_bound(self) -> None:
        with self._lock:
            held = sum(matrix.nbytes for matrix in self._matrices.values())
            while held > self._bound and len(self._matrices) > 1:
                _, dropped = self._matrices.popitem(last=False)
                held -= dropped.nbytes


class _Matrix:
    """Rows of one scope. Changes hold the lock; searches work on arrays that are never changed in place."""

    def __init__(self) -> None:
        self._lock = RLock()
        self.filled = False
        self._count = 0
        self._places: dict[int, int] = {}
        self._keys: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._vectors: Vector = np.empty((0, 0), dtype=np.float32)
        self._columns: npt.NDArray[Any] = np.empty(0, dtype=DTYPE)

    @property
    def nbytes(self) -> int:
        return self._keys.nbytes + self._vectors.nbytes + self._columns.nbytes

    def count(self) -> int:
        return self._count

    def fill(self, source: VectorSource, scope: Scope, batch: int) -> bool:
        """Read the scope from the truth once; changes made meanwhile wait and come on top."""
        with self._lock:
            if self.filled:
                return False
            size = source.size(scope)
            for entries in source.batches(scope, batch):
                self._take(entries, expected=size)
            self.filled = True
        return True

    def snapshot(self) -> tuple[npt.NDArray[np.int64], Vector, npt.NDArray[Any]]:
        with self._lock:
            used = self._count
            return self._keys[:used], self._vectors[:used], self._columns[:used]

    def at_hand(self, keys: Sequence[int]) -> dict[int, Vector]:
        with self._lock:
            if not self.filled:
                return {}
            places = {key: self._places[key] for key in keys if key in self._places}
            # Copied at once: rows are never changed in place, but the matrix is as large as the scope.
            return dict(zip(places, self._vectors[list(places.values())], strict=True)) if places else {}

    def upsert(self, entries: Sequence[VectorEntry]) -> None:
        with self._lock:
            if self.filled:
                self._take(entries, expected=self._count + len(entries))

    def remove(self, keys: Sequence[int]) -> None:
        with self._lock:
            gone = {self._places[key] for key in keys if key in self._places}
            if not gone:
                return
            kept = [place for place in range(self._count) if place not in gone]
            self._keys = self._keys[kept]
            self._vectors = self._vectors[kept]
            self._columns = self._columns[kept]
            self._count = len(kept)
            self._places = {int(key): place for place, key in enumerate(self._keys)}

    def _take(self, entries: Sequence[VectorEntry], expected: int) -> None:
        latest = {entry.key: entry for entry in entries}
        known = [entry for key, entry in latest.items() if key in self._places]
        fresh = [entry for key, entry in latest.items() if key not in self._places]
        if known:
            self._replace(known)
        if fresh:
            self._append(fresh, expected)

    def _replace(self, known: Sequence[VectorEntry]) -> None:
        # A search may be reading: what it holds stays as it was.
        self._columns = self._columns.copy()
        for entry in known:
            self._columns[self._places[entry.key]] = as_numbers(entry.facets)
        moved = [one for one in known if not np.array_equal(self._vectors[self._places[one.key]], unit(one.vector))]
        if moved:
            self._vectors = self._vectors.copy()
        for entry in moved:
            self._vectors[self._places[entry.key]] = unit(entry.vector)

    def _append(self, fresh: Sequence[VectorEntry], expected: int) -> None:
        self._make_room(max(expected, self._count + len(fresh)), len(fresh[0].vector))
        new = slice(self._count, self._count + len(fresh))
        self._keys[new] = [entry.key for entry in fresh]
        self._vectors[new] = _units(np.stack([entry.vector for entry in fresh]))
        self._columns[new] = np.array([as_numbers(entry.facets) for entry in fresh], dtype=DTYPE)
        self._places.update((entry.key, new.start + place) for place, entry in enumerate(fresh))
        self._count = new.stop

    def _make_room(self, wanted: int, dimension: int) -> None:
        if wanted <= len(self._keys) and self._vectors.shape[1] == dimension:
            return
        # Grown by half, so that adding one by one stays cheap; an exact fit where the size is known.
        capacity = wanted if not self._count else max(wanted, self._count + self._count // 2, _FIRST_CAPACITY)
        used = self._count
        keys = np.zeros(capacity, dtype=np.int64)
        vectors = np.zeros((capacity, dimension), dtype=np.float32)
        columns = np.zeros(capacity, dtype=DTYPE)
        keys[:used], columns[:used] = self._keys[:used], self._columns[:used]
        if used:
            vectors[:used] = self._vectors[:used]
        self._keys, self._vectors, self._columns = keys, vectors, columns


def _cosines(matrix: Vector, questions: Sequence[Vector]) -> Vector:
    """Shape (questions, rows). All questions see a piece of the matrix while it is near: reading it is what takes the time."""
    found = np.empty((len(questions), len(matrix)), dtype=np.float32)
    for start in range(0, len(matrix), _PIECE):
        piece = matrix[start : start + _PIECE]
        # One by one: a product with so narrow a matrix takes twice as long.
        for question, row in zip(questions, found, strict=True):
            np.dot(piece, question, out=row[start : start + len(piece)])
    return found


def _units(vectors: Vector) -> Vector:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Vector = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return scaled


def _best(scores: Vector, limit: int) -> npt.NDArray[np.intp]:
    if limit >= len(scores):
        return np.arange(len(scores))
    return np.argpartition(-scores, limit - 1)[:limit] if limit > 0 else np.empty(0, dtype=np.intp)

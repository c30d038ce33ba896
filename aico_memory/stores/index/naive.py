"""In-memory twin of the vector index: one comparison after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from threading import Lock

import numpy as np

from aico_memory.domain.memory import Scope, View, admits, conditions
from aico_memory.stores.index.vector_port import (
    Neighbour,
    Similarities,
    Vector,
    VectorEntry,
    VectorSource,
    as_similarities,
    unit,
)


class NaiveVectorIndex:
    """Looks at everything that its truth gave it; the measure of the other indexes."""

    name = "naive"

    def __init__(self, source: VectorSource) -> None:
        self._source = source
        self._lock = Lock()
        self._entries: dict[int, VectorEntry] = {}
        self._fill()

    def _fill(self) -> None:
        for batch in self._source.batches(None, 1000):
            self.upsert(batch)

    def search(self, vector: Vector, view: View, limit: int) -> list[Neighbour]:
        wanted = conditions(view)
        question = unit(vector)
        with self._lock:
            entries = list(self._entries.values())
        found = [
            Neighbour(entry.key, float(np.dot(unit(entry.vector), question)))
            for entry in entries
            if entry.scope in view.scopes and admits(wanted, entry.facets)
        ]
        return sorted(found, key=lambda one: (-one.score, one.key))[:limit]

    def similarities(self, vectors: Sequence[Vector], view: View, limit: int) -> list[Similarities]:
        return [as_similarities(self.search(vector, view, limit)) for vector in vectors]

    def at_hand(self, keys: Sequence[int], scope: Scope) -> dict[int, Vector]:
        with self._lock:
            found = [self._entries[key] for key in keys if key in self._entries]
        return {entry.key: unit(entry.vector) for entry in found if entry.scope == scope}

    def upsert(self, entries: Sequence[VectorEntry]) -> None:
        with self._lock:
            self._entries.update((entry.key, entry) for entry in entries)

    def remove(self, scope: Scope, keys: Sequence[int]) -> None:
        with self._lock:
            for key in keys:
                if key in self._entries and self._entries[key].scope == scope:
                    del self._entries[key]

    def verify(self) -> list[str]:
        have, truth = len(self._entries), self._source.size()
        if have == truth:
            return []
        self.rebuild()
        return [f"{have} vectors indexed, {truth} stored"]

    def rebuild(self) -> None:
        with self._lock:
            self._entries.clear()
        self._fill()

    def status(self) -> dict[str, object]:
        return {"name": self.name, "vectors": len(self._entries)}

    def close(self) -> None:
        self._entries.clear()

    def drop(self) -> None:
        self.close()


class KeptSource:
    """In-memory twin of the truth: entries that a function gives."""

    def __init__(self, entries: Callable[[], Sequence[VectorEntry]]) -> None:
        self._entries = entries

    def size(self, scope: Scope | None = None) -> int:
        return len(self._of(scope))

    def batches(self, scope: Scope | None, limit: int) -> Iterator[Sequence[VectorEntry]]:
        after = 0
        while batch := [entry for entry in self._of(scope) if entry.key > after][:limit]:
            yield batch
            after = batch[-1].key

    def _of(self, scope: Scope | None) -> list[VectorEntry]:
        entries = sorted(self._entries(), key=lambda entry: entry.key)
        return [entry for entry in entries if scope is None or entry.scope == scope]

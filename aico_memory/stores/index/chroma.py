"""Chroma as vector index: one collection for all scopes, ids, vectors and filter numbers, no text.

In memory it is built from the truth at each start. On disk it is readable by
anybody who reads the disk, so a folder is a deliberate choice.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from threading import RLock
from typing import Any

from aico_memory.domain.memory import Condition, Scope, View, conditions
from aico_memory.ids import stable_hash64
from aico_memory.stores.index.facet_columns import DTYPE, as_number, as_numbers, digest63
from aico_memory.stores.index.vector_port import (
    Neighbour,
    Similarities,
    Vector,
    VectorEntry,
    VectorSource,
    as_similarities,
    unit,
)

_OPERATORS = {"in": "$in", "ge": "$gte", "le": "$lte", "gt": "$gt", "lt": "$lt"}
_FIELDS = DTYPE.names or ()


class ChromaVectorIndex:
    """Approximate neighbours (HNSW, cosine); `build` or `verify` before the first search."""

    name = "chroma"

    def __init__(self, source: VectorSource, fingerprint: str, load_batch: int, folder: str = "") -> None:
        import chromadb  # heavy: imported only where it is configured or the size asks for it
        from chromadb.config import Settings

        quiet = Settings(anonymized_telemetry=False)
        self._source = source
        self._lock = RLock()
        name = f"memories-{stable_hash64(fingerprint):016x}"
        if folder:
            self._client: Any = chromadb.PersistentClient(path=folder, settings=quiet)
        else:
            # All in-memory clients of a process share one space.
            name += f"-{uuid.uuid4().hex[:12]}"
            self._client = chromadb.EphemeralClient(settings=quiet)
        self._name = name
        self._batch = min(load_batch, int(self._client.get_max_batch_size()))
        self._collection = self._open()
        self._dropped = False

    def build(self) -> None:
        """Fill an empty collection from the truth, a bounded batch at a time; changes may come in between."""
        batches = iter(self._source.batches(None, self._batch))
        while True:
            # Read and written under the lock, so that no older state overwrites a newer one.
            with self._lock:
                entries = next(batches, None)
                if entries is None:
                    return
                self._write(entries)

    def search(self, vector: Vector, view: View, limit: int) -> list[Neighbour]:
        collection = self._collection
        count = collection.count()
        if not count or limit <= 0 or not view.scopes:
            return []
        answer = collection.query(
            query_embeddings=[unit(vector)], n_results=min(limit, count), where=_where(view), include=["distances"]
        )
        found = [
            Neighbour(int(key), 1.0 - float(distance))
            for key, distance in zip(answer["ids"][0], answer["distances"][0], strict=True)
        ]
        return sorted(found, key=lambda one: (-one.score, one.key))

    def similarities(self, vectors: Sequence[Vector], view: View, limit: int) -> list[Similarities]:
        return [as_similarities(self.search(vector, view, limit)) for vector in vectors]

    def at_hand(self, keys: Sequence[int], scope: Scope) -> dict[int, Vector]:
        # It would have to be asked for them, which takes longer than reading them from the truth.
        return {}

    def upsert(self, entries: Sequence[VectorEntry]) -> None:
        with self._lock:
            for start in range(0, len(entries), self._batch):
                self._write(entries[start : start + self._batch])

    def remove(self, scope: Scope, keys: Sequence[int]) -> None:
        if keys:
            with self._lock:
                self._collection.delete(ids=[str(key) for key in keys], where={"scope": digest63(scope.key)})

    def verify(self) -> list[str]:
        have, truth = self._collection.count(), self._source.size()
        if have == truth:
            return []
        self.rebuild()
        return [f"{have} vectors indexed, {truth} stored: rebuilt"]

    def rebuild(self) -> None:
        with self._lock:
            self._client.delete_collection(self._name)
            self._collection = self._open()
        self.build()

    def status(self) -> dict[str, object]:
        return {"name": self.name, "vectors": self._collection.count()}

    def close(self) -> None:
        """Drop an in-memory collection; one on disk stays."""
        if not self._client.get_settings().is_persistent:
            self.drop()

    def drop(self) -> None:
        with self._lock:
            if not self._dropped:
                self._client.delete_collection(self._name)
                self._dropped = True

    def _open(self) -> Any:
        # Chroma's default is L2; an embedding function of its own would download a model.
        return self._client.get_or_create_collection(
            self._name, configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )

    def _write(self, entries: Sequence[VectorEntry]) -> None:
        if not entries:
            return
        # `add` would ignore an existing id in silence.
        self._collection.upsert(
            ids=[str(entry.key) for entry in entries],
            embeddings=[unit(entry.vector) for entry in entries],
            metadatas=[
                {"scope": digest63(entry.scope.key), **dict(zip(_FIELDS, as_numbers(entry.facets), strict=True))}
                for entry in entries
            ],
        )


def _where(view: View) -> dict[str, Any]:
    scopes = [digest63(scope.key) for scope in view.scopes]
    return {"$and": [{"scope": {"$in": scopes}}, *_clauses(conditions(view))]}


def _clauses(wanted: Iterable[Condition]) -> Iterable[dict[str, Any]]:
    for condition in wanted:
        if condition.op == "any":
            yield {"$or": list(_clauses(condition.value))}
            continue
        field, op, value = as_number(condition)
        yield {field: {_OPERATORS[op]: list(value) if op == "in" else value}}

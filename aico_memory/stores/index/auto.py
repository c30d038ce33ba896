"""Which vector index answers: matrices for scopes of usual size, Chroma for very large or very many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock, Thread
from typing import Protocol

from aico_memory.domain.memory import Scope, View
from aico_memory.stores.index.exact import ExactVectorIndex
from aico_memory.stores.index.vector_port import Neighbour, Similarities, Vector, VectorEntry, VectorIndex, VectorSource


class BuildableIndex(VectorIndex, Protocol):
    """An index that must be filled before it answers."""

    def build(self) -> None:
        """Fill it from the truth."""


class AutoVectorIndex:
    """Exact while the scopes of a question hold at most `limit` vectors; beyond, the large index once it is built.

    The large index is opened in the background by the first question that needs
    it; until it stands, the exact one answers.
    """

    name = "auto"

    def __init__(
        self, source: VectorSource, exact: ExactVectorIndex, open_large: Callable[[], BuildableIndex], limit: int
    ) -> None:
        self._source = source
        self._exact = exact
        self._open_large = open_large
        self._limit = limit
        self._lock = Lock()
        # Takes changes from the moment it is opened, answers from the moment it is built.
        self._large: BuildableIndex | None = None
        self._large_scopes: set[Scope] = set()
        self._built = False
        self._closed = False
        self._builder: Thread | None = None
        self._failure: BaseException | None = None

    def search(self, vector: Vector, view: View, limit: int) -> list[Neighbour]:
        if not self._is_large(view.scopes):
            return self._exact.search(vector, view, limit)
        if self._large is None:
            self._start_building()
        large = self._large
        if self._built and large is not None:
            return large.search(vector, view, limit)
        return self._exact.search(vector, view, limit)

    def similarities(self, vectors: Sequence[Vector], view: View, limit: int) -> list[Similarities]:
        large = self._large
        if self._is_large(view.scopes) and self._built and large is not None:
            return large.similarities(vectors, view, limit)
        if self._is_large(view.scopes):
            self._start_building()
        return self._exact.similarities(vectors, view, limit)

    def at_hand(self, keys: Sequence[int], scope: Scope) -> dict[int, Vector]:
        return self._exact.at_hand(keys, scope)

    def wait_built(self, timeout: float) -> bool:
        """Wait for a build that is under way; whether the large index answers."""
        builder = self._builder
        if builder is not None:
            builder.join(timeout)
        return self._built

    def upsert(self, entries: Sequence[VectorEntry]) -> None:
        self._exact.upsert(entries)
        large = self._large
        if large is not None:
            large.upsert(entries)

    def remove(self, scope: Scope, keys: Sequence[int]) -> None:
        self._exact.remove(scope, keys)
        large = self._large
        if large is not None:
            large.remove(scope, keys)

    def verify(self) -> list[str]:
        found = self._exact.verify()
        large = self._large
        return found + large.verify() if self._built and large is not None else found

    def status(self) -> dict[str, object]:
        shown: dict[str, object] = {"name": self.name, "exact": self._exact.status()}
        large = self._large
        if large is not None:
            shown["large"] = {**large.status(), "built": self._built}
        if self._failure is not None:
            shown["large_failed"] = type(self._failure).__name__
        return shown

    def close(self) -> None:
        self._closed = True
        self.wait_built(30.0)
        self._exact.close()
        if self._large is not None:
            self._large.close()

    def rebuild(self) -> None:
        self._large_scopes.clear()
        self._exact.rebuild()
        large = self._large
        if self._built and large is not None:
            self._built = False
            large.rebuild()
            self._built = True

    def drop(self) -> None:
        large = self._large
        if large is not None:
            self.wait_built(30.0)
            large.drop()
            self._large = None
        self.close()

    def _is_large(self, scopes: Sequence[Scope]) -> bool:
        # Counting a large scope takes time, and a large one seldom becomes small: it is counted once.
        if any(scope in self._large_scopes for scope in scopes):
            return True
        total = 0
        for scope in scopes:
            held = self._exact.size(scope)
            size = self._source.size(scope) if held is None else held
            if size > self._limit:
                self._large_scopes.add(scope)
            total += size
        return total > self._limit

    def _start_building(self) -> None:
        with self._lock:
            if self._builder is None and not self._closed:
                self._builder = Thread(target=self._build, name="large-index", daemon=True)
                self._builder.start()

    def _build(self) -> None:
        try:
            large = self._open_large()
            self._large = large
            large.build()
            self._built = True
        except Exception as error:
            # The exact index goes on answering; status names the failure.
            self._failure = error
            self._large = None

"""The vector index in use: built on the active embedding model, exchanged when that changes."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from aico_memory.settings.semantic import SemanticSettings
from aico_memory.stores.index.auto import AutoVectorIndex, BuildableIndex
from aico_memory.stores.index.exact import ExactVectorIndex
from aico_memory.stores.index.memory_text import InMemoryText
from aico_memory.stores.index.vector_port import VectorIndex
from aico_memory.stores.semantic.port import IndexQueue


class LiveIndex:
    """Holds the index of the active fingerprint; there is none before the first vector."""

    def __init__(self, queue: IndexQueue, settings: SemanticSettings) -> None:
        self._queue = queue
        self._settings = settings
        self._lock = Lock()
        self._fingerprint = ""
        self._index: VectorIndex | None = None
        # The first index is being built; there are vectors, but nothing to search in yet.
        self.building = False
        # Checked and rebuilt together with the vectors; set by whoever owns it.
        self.texts: InMemoryText | None = None

    def current(self) -> tuple[str, VectorIndex | None]:
        """Fingerprint and index; an index that is still being built is None."""
        return self._fingerprint, self._index

    def follow(self) -> None:
        """Open the index of the model that the store names as active, where that is another one; blocks while it is built."""
        active = self._queue.fingerprint()
        if not active or active == self._fingerprint:
            return
        self.building = self._index is None
        try:
            fresh = self._open(active)
        finally:
            self.building = False
        with self._lock:
            former, self._index, self._fingerprint = self._index, fresh, active
        if former is not None:
            former.drop()

    def refresh(self, keys: Sequence[int]) -> None:
        """Bring these memories up to date in the index."""
        if self._index is not None:
            self._index.upsert(self._queue.entries(self._fingerprint, keys))

    def verify(self) -> list[str]:
        """Hold the index against the truth; what differed, in words."""
        found = [] if self._index is None else self._index.verify()
        return found if self.texts is None else [*found, *self.texts.verify()]

    def rebuild(self) -> None:
        """Build the index anew from the truth, on another model where the store names another."""
        if self.texts is not None:
            self.texts.drop()
        before = self._fingerprint
        self.follow()
        if self._index is not None and self._fingerprint == before:
            self._index.rebuild()

    def status(self) -> dict[str, object]:
        """Kind and size."""
        return {"name": self._settings.index} if self._index is None else self._index.status()

    def close(self) -> None:
        """Give the memory back."""
        with self._lock:
            former, self._index = self._index, None
        if former is not None:
            former.close()

    def _open(self, fingerprint: str) -> VectorIndex:
        source = self._queue.vectors(fingerprint)
        settings = self._settings
        if settings.index == "chroma":
            large = self._open_large(fingerprint)
            large.verify()
            return large
        exact = ExactVectorIndex(source, settings.exact_cache_bytes, settings.load_batch)
        if settings.index == "exact":
            return exact
        return AutoVectorIndex(source, exact, lambda: self._open_large(fingerprint), settings.exact_limit)

    def _open_large(self, fingerprint: str) -> BuildableIndex:
        # Chroma is heavy: a deployment that needs none does not load it.
        from aico_memory.stores.index.chroma import ChromaVectorIndex

        source = self._queue.vectors(fingerprint)
        return ChromaVectorIndex(source, fingerprint, self._settings.load_batch, self._settings.chroma_folder)

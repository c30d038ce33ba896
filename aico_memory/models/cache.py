"""Embeddings that were made lately: least recently used go first, all go after a time."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Row = npt.NDArray[np.float32]


class EmbeddingCache:
    """Vectors by SHA-256 of their text; thread-safe. Times are seconds of any one steady clock."""

    def __init__(self, entries: int, seconds: float) -> None:
        self._entries = entries
        self._seconds = seconds
        self._rows: OrderedDict[bytes, tuple[float, Row]] = OrderedDict()
        self._lock = threading.Lock()
        self.hits = 0
        self.misses = 0

    def find(self, texts: Sequence[str], now: float) -> list[Row | None]:
        """The kept vector of each text, or None."""
        if not self._entries:
            return [None] * len(texts)
        found: list[Row | None] = []
        with self._lock:
            for text in texts:
                key = _key(text)
                made_at, row = self._rows.get(key, (0.0, None))
                if row is not None and now - made_at >= self._seconds:
                    del self._rows[key]
                    row = None
                if row is None:
                    self.misses += 1
                else:
                    self.hits += 1
                    self._rows.move_to_end(key)
                found.append(row)
        return found

    def keep(self, text: str, row: Row, now: float) -> None:
        """Remember a vector; the least recently used one makes room."""
        if not self._entries:
            return
        kept = row.copy()
        kept.flags.writeable = False
        with self._lock:
            self._rows[_key(text)] = (now, kept)
            self._rows.move_to_end(_key(text))
            while len(self._rows) > self._entries:
                self._rows.popitem(last=False)

    def __len__(self) -> int:
        return len(self._rows)

    def as_status(self) -> dict[str, object]:
        """Counts for the status."""
        return {"entries": len(self), "limit": self._entries, "hits": self.hits, "misses": self.misses}


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()

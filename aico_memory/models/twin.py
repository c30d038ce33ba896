"""The in-memory twin of an embedder: hashed character n-grams, the same on every machine.

It knows no meaning, only shared spelling; the embedded classifiers also use it
for languages that the embedding model does not speak.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence

import numpy as np

from aico_memory.ids import stable_hash64
from aico_memory.models.embedder import Vectors, normalise


class HashedEmbedder:
    """Deterministic vectors of hashed character n-grams with signed buckets."""

    def __init__(self, dimension: int = 256, sizes: Sequence[int] = (2, 3, 4)) -> None:
        self.dimension = dimension
        self.model = "hashed-ngrams"
        self.languages: tuple[str, ...] = ()
        self._sizes = tuple(sizes)
        self.fingerprint = f"{self.model}|{dimension}|{'-'.join(map(str, self._sizes))}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for gram, count in _grams(text, self._sizes).items():
                digest = stable_hash64(gram)
                row[digest % self.dimension] += (1.0 if digest >> 63 else -1.0) * np.sqrt(count)
        return normalise(rows)

    def close(self) -> None:
        """Nothing is held."""


def _grams(text: str, sizes: Sequence[int]) -> Counter[str]:
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    padded = f" {folded} "
    return Counter(padded[at : at + size] for size in sizes for at in range(len(padded) - size + 1))

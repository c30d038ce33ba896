"""The reference: the model as sentence-transformers runs it. The only module that imports torch into the serving process."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from aico_memory.errors import ModelUnavailable
from aico_memory.models.embedder import Vectors, normalise
from aico_memory.models.weights import Weights


class ReferenceEmbedder:
    """An embedder over sentence-transformers; slower and larger than the export, and the truth it is checked against."""

    def __init__(self, weights: Weights, fingerprint: str, *, device: str = "cpu", threads: int = 1) -> None:
        self.model = weights.model
        self.fingerprint = fingerprint
        self.dimension = int(fingerprint.split("|")[1])
        self.languages = weights.languages
        self.device = device
        self._lock = threading.Lock()
        try:
            import torch
            from sentence_transformers import SentenceTransformer

            torch.set_num_threads(threads)
            self._model: Any = SentenceTransformer(str(weights.folder), device=device, local_files_only=True)
        except (ImportError, OSError, RuntimeError, ValueError) as error:
            raise ModelUnavailable(f"{weights.model} cannot be loaded from {weights.folder}: {error}") from error

    def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        with self._lock:
            rows = self._model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
        return normalise(np.asarray(rows, dtype=np.float32))

    def close(self) -> None:
        self._model = None

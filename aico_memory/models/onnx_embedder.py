"""Serving an exported model: tokenizer, onnxruntime session, mean pooling; neither torch nor transformers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from aico_memory.errors import ModelUnavailable
from aico_memory.models.embedder import Vectors, normalise
from aico_memory.models.onnx_session import CPU, open_session
from aico_memory.models.weights import TOKENIZER_FILE

MODEL_FILE = "model.onnx"
RECIPE_FILE = "recipe.json"
SHORT_TOKENS = 256


class OnnxEmbedder:
    """An embedder over the files of one export."""

    def __init__(
        self,
        folder: Path,
        *,
        model: str,
        fingerprint: str,
        languages: tuple[str, ...],
        device: str = "cpu",
        threads: int = 1,
        batch_tokens: int = 1024,
    ) -> None:
        from onnxruntime import RunOptions
        from tokenizers import Tokenizer

        self.model = model
        self.fingerprint = fingerprint
        self.dimension = int(fingerprint.split("|")[1])
        self.languages = languages
        self._batch_tokens = batch_tokens
        recipe = json.loads((folder / RECIPE_FILE).read_text(encoding="utf-8"))
        self._tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
        # The packaged tokenizer pads every text to 128 tokens: a query would cost four times as much.
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(int(recipe["max_length"]))
        self._pad_id = int(recipe["pad_id"])
        self.precision = str(recipe.get("precision", "float32"))
        if self.precision == "int8":
            # The scale of what is quantised on the way depends on everything in a batch: the same text would have another
            # vector beside another.
            self._batch_tokens = 0
        providers = ("CUDAExecutionProvider", *CPU) if device == "cuda" else CPU
        quantised = self.precision == "int8"
        try:
            self._session: Any = open_session(folder / MODEL_FILE, threads=threads, quantised=quantised, providers=providers)
        except Exception as error:
            # onnxruntime raises classes of its own extension that share no root but Exception.
            raise ModelUnavailable(f"The export in {folder} cannot be loaded: {type(error).__name__}") from error
        self._shrinking = RunOptions()
        self._shrinking.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
        self.device = "cuda" if "CUDAExecutionProvider" in self._session.get_providers() else "cpu"

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        if not texts:
            return rows
        encoded = [entry.ids for entry in self._tokenizer.encode_batch(list(texts))]
        for places in _batches([len(ids) for ids in encoded], self._batch_tokens):
            rows[places] = self._infer([encoded[place] for place in places])
        return rows

    def _infer(self, encoded: Sequence[Sequence[int]]) -> Vectors:
        width = max(len(ids) for ids in encoded)
        tokens = np.full((len(encoded), width), self._pad_id, dtype=np.int64)
        mask = np.zeros((len(encoded), width), dtype=np.int64)
        for row, ids in enumerate(encoded):
            tokens[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        # What a long text needed goes back; a short query keeps its memory, since getting it anew would cost time.
        options = self._shrinking if tokens.size > SHORT_TOKENS and self.device == "cpu" else None
        (hidden,) = self._session.run(None, {"input_ids": tokens, "attention_mask": mask}, options)
        return normalise(_mean(hidden, mask))

    def close(self) -> None:
        self._session = None


def _mean(hidden: npt.NDArray[np.float32], mask: npt.NDArray[np.int64]) -> Vectors:
    weights = mask[:, :, None].astype(np.float32)
    return np.asarray((hidden * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1e-9), dtype=np.float32)


def _batches(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Places of texts of like length whose padded size stays within `most` tokens (one text may exceed it; 0: one each)."""
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lambda at: lengths[at]):
        if batch and (len(batch) + 1) * lengths[place] > most:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch

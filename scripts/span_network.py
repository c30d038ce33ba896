"""The span reader's network: its layers, its export with 8-bit weights, and the way back from what is shipped.

The shipped weights are the only ones that a checkout has. Read back they are as exact as 8 bits are, which is near enough to
go on learning from.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
import yaml
from numpy.typing import NDArray
from onnx import numpy_helper

from aico_memory.domain.recall.reading.passage import MARKS
from aico_memory.domain.recall.reading.picking import CUTS
from aico_memory.models.span_reader import MODEL_FILE, RECIPE_FILE
from aico_memory.models.weights import TOKENIZER_FILE

# Width of the vectors by which first and last word of a value know each other.
PAIR = 48
OPSET = 17
# Likeness to padding.
UNSEEN = -1e4
# What the names of the exported tensors and nodes begin with.
_ROOT = "reader"


class Block(torch.nn.Module):  # type: ignore[misc]  # torch is untyped here
    """Attention and two layers behind it, each on what a norm makes of its input (Xiong et al. 2020), which a new block only
    hands on: what it adds begins at zero.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before = torch.nn.LayerNorm(width)
        self.query, self.key, self.value = (torch.nn.Linear(width, width) for _ in range(3))
        self.together = torch.nn.Linear(width, width)
        self.between = torch.nn.LayerNorm(width)
        self.wider = torch.nn.Linear(width, 4 * width)
        self.back = torch.nn.Linear(4 * width, width)
        self.drop = torch.nn.Dropout(0.1)
        for last in (self.together, self.back):
            torch.nn.init.zeros_(last.weight)
            torch.nn.init.zeros_(last.bias)

    def forward(self, vectors: Any, mask: Any) -> Any:
        batch, count, width = vectors.shape
        normed = self.before(vectors)
        query, key, value = (
            part(normed).view(batch, count, self.heads, width // self.heads).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        # In plain products: on processors the fused kernel takes four times as long to differentiate in 16 bits.
        likeness = (query @ key.transpose(2, 3)) * (width // self.heads) ** -0.5
        seen = likeness.masked_fill(~mask[:, None, None, :], UNSEEN).softmax(dim=-1) @ value
        vectors = vectors + self.drop(self.together(seen.transpose(1, 2).reshape(batch, count, width)))
        return vectors + self.drop(self.back(torch.nn.functional.gelu(self.wider(self.between(vectors)))))


class SpanReader(torch.nn.Module):  # type: ignore[misc]
    """Scores of tokens: as the first and the last of a value, vectors for the pair, and of saying nothing."""

    def __init__(self, encoder: Any, blocks: int) -> None:
        super().__init__()
        self.encoder = encoder
        width = encoder.config.hidden_size
        self.marks = torch.nn.ModuleList(torch.nn.Embedding(count, width) for count in MARKS)
        for table in self.marks:
            torch.nn.init.normal_(table.weight, std=0.01)
        self.blocks = torch.nn.ModuleList(Block(width, encoder.config.num_attention_heads) for _ in range(blocks))
        self.drop = torch.nn.Dropout(0.1)
        self.inner = torch.nn.Linear(width, width)
        self.heads = torch.nn.Linear(width, 2 + 2 * PAIR)
        self.nothing = torch.nn.Linear(width, 1)
        self.answers = torch.nn.Linear(width, 1)
        self.cuts = torch.nn.Linear(width, CUTS)
        self.several = torch.nn.Linear(width, 1)

    def forward(self, tokens: Any, mask: Any, marks: Any) -> Any:
        vectors = self.encoder.embeddings.word_embeddings(tokens)
        for place, table in enumerate(self.marks):
            vectors = vectors + table(marks[:, :, place])
        hidden = self.encoder(inputs_embeds=vectors, attention_mask=mask).last_hidden_state
        for block in self.blocks:
            hidden = block(hidden, mask.bool())
        hidden = self.drop(hidden)
        hidden = hidden + torch.nn.functional.gelu(self.inner(hidden))
        parts = (self.heads, self.cuts, self.several, self.nothing, self.answers)
        return torch.cat([part(hidden) for part in parts], dim=-1)


def blocks_of(weights: Mapping[str, Any]) -> int:
    """Blocks behind the encoder of the network whose weights these are."""
    return len({name.split(".")[1] for name in weights if name.startswith("blocks.")})


class _Single(torch.nn.Module):  # type: ignore[misc]
    """The reader of one passage, as it is exported."""

    def __init__(self, reader: SpanReader) -> None:
        super().__init__()
        self.reader = reader

    def forward(self, tokens: Any, marks: Any) -> Any:
        return self.reader(tokens, torch.ones_like(tokens), marks)


def export(model: Any, into: Path, tokenizer: Path, provenance: Mapping[str, Any], kept_out: Sequence[str]) -> None:
    """The network with 8-bit weights, its tokenizer, and where it comes from."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    into.mkdir(parents=True, exist_ok=True)
    whole = into / "whole.onnx"
    tokens, marks = torch.ones((1, 9), dtype=torch.long), torch.zeros((1, 9, len(MARKS)), dtype=torch.long)
    with torch.no_grad(), warnings.catch_warnings():
        # The tracing exporter works without onnxscript; its notices are known.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            _Single(model.eval()), (tokens, marks), str(whole), input_names=["tokens", "marks"], output_names=["scores"],
            dynamic_axes={"tokens": {1: "t"}, "marks": {1: "t"}, "scores": {1: "t"}}, opset_version=OPSET, dynamo=False,
        )  # fmt: skip
    logging.getLogger().setLevel(logging.ERROR)
    # Unsigned, as for the embedding model: the same scores on processors with and without a dot product for 8 bits.
    quantize_dynamic(whole, into / MODEL_FILE, weight_type=QuantType.QUInt8, per_channel=True)
    whole.unlink()
    (into / TOKENIZER_FILE).write_bytes(tokenizer.read_bytes())
    recipe = {
        "name": f"span reader of {provenance['date']}",
        "pair": PAIR,
        "languages": provenance["languages"],
        "provenance": dict(provenance),
        "kept_out": list(kept_out),
    }
    (into / RECIPE_FILE).write_text(yaml.safe_dump(recipe, sort_keys=False, width=120, allow_unicode=True), encoding="utf-8")


def exported_weights(model: Path) -> dict[str, Any]:
    """The weights of an exported network by their names in `SpanReader`, 8-bit ones as the numbers that they stand for."""
    graph = onnx.load(str(model)).graph
    stored = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    weights = {
        name.removeprefix(f"{_ROOT}."): values for name, values in stored.items() if not name.startswith("onnx::")
        and not name.endswith(("_scale", "_zero_point", "_quantized"))
    }  # fmt: skip
    for name in stored:
        if name.startswith(f"{_ROOT}.") and name.endswith("_quantized"):
            whole = name.removesuffix("_quantized")
            weights[whole.removeprefix(f"{_ROOT}.")] = _numbers(stored, whole)
    for node in graph.node:
        if node.op_type == "MatMulInteger":
            # A node is called by its layer; the exporter transposes what the layer multiplies by.
            layer = node.name.removeprefix(f"/{_ROOT}/").removesuffix("/MatMul_quant").replace("/", ".")
            weights[f"{layer}.weight"] = _numbers(stored, node.input[1].removesuffix("_quantized")).T
    return {name: torch.tensor(values) for name, values in weights.items()}


def _numbers(stored: Mapping[str, NDArray[Any]], name: str) -> NDArray[np.float32]:
    steps = stored[f"{name}_quantized"].astype(np.float32) - stored[f"{name}_zero_point"].astype(np.float32)
    return np.asarray(steps * stored[f"{name}_scale"], dtype=np.float32)

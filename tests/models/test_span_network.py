"""The network of the span reader as it is trained, exported and read back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnxruntime
import pytest
import torch
from span_network import SpanReader, blocks_of, export, exported_weights
from transformers import BertConfig, BertModel

from aico_memory.domain.recall.reading.passage import MARKS
from aico_memory.models.span_reader import MODEL_FILE, recipe_of

TOKENS = torch.tensor([[2, 17, 5, 90, 33, 3]])
SHAPES = torch.zeros((1, 6, len(MARKS)), dtype=torch.long)


def network(blocks: int) -> SpanReader:
    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=100, hidden_size=48, num_hidden_layers=1, num_attention_heads=4, intermediate_size=96,
        attn_implementation="sdpa",
    )  # fmt: skip
    return SpanReader(BertModel(config, add_pooling_layer=False), blocks).eval()


def scores(model: SpanReader, mask: Any = None, tokens: Any = TOKENS) -> Any:
    with torch.no_grad():
        return model(tokens, torch.ones_like(tokens) if mask is None else mask, SHAPES)


@pytest.fixture
def trained() -> SpanReader:
    """One of which no two parts are alike, as after training: the exporter stores equal ones once."""
    model = network(1)
    with torch.no_grad():
        for value in model.parameters():
            value.add_(torch.randn(value.shape) * 0.1)
    return model


def test_a_new_block_hands_on_what_it_is_given() -> None:
    plain, grown = network(0), network(2)
    grown.load_state_dict({**grown.state_dict(), **plain.state_dict()})
    assert torch.equal(scores(plain), scores(grown))


def test_a_block_sees_nothing_of_what_pads(trained: SpanReader) -> None:
    mask = torch.tensor([[1, 1, 1, 1, 0, 0]])
    otherwise = TOKENS.clone()
    otherwise[0, 4:] = 50
    assert torch.allclose(scores(trained, mask)[0, :4], scores(trained, mask, otherwise)[0, :4], atol=1e-6)
    assert not torch.allclose(scores(trained)[0, :4], scores(trained, tokens=otherwise)[0, :4], atol=1e-6)


def test_what_was_exported_is_read_back_as_exactly_as_it_is_stored(trained: SpanReader, tmp_path: Path) -> None:
    tokenizer = tmp_path / "given.json"
    tokenizer.write_text("{}")
    export(trained, tmp_path, tokenizer, {"languages": ["en"], "date": "2026-11-26"}, ["en-learn-1-001"])
    assert recipe_of(tmp_path).kept_out == ("en-learn-1-001",)
    weights = exported_weights(tmp_path / MODEL_FILE)
    assert blocks_of(weights) == 1
    assert weights.keys() == trained.state_dict().keys()
    for name, value in trained.state_dict().items():
        # A step of 8 bits over the whole tensor is the coarsest there is.
        step = float(value.max().clamp(min=0) - value.min().clamp(max=0)) / 255
        assert torch.allclose(weights[name].float(), value.float(), atol=step + 1e-6), name
    again = network(1)
    again.load_state_dict(weights)
    session = onnxruntime.InferenceSession(str(tmp_path / MODEL_FILE), providers=["CPUExecutionProvider"])
    (stored,) = session.run(None, {"tokens": TOKENS.numpy(), "marks": SHAPES.numpy()})
    assert torch.allclose(scores(again), torch.from_numpy(stored), atol=0.1)

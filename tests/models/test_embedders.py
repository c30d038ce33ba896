"""The suite on the twin and on the export, and what is true of the export alone."""

from __future__ import annotations

import numpy as np
import pytest

from aico_memory.models.embedder import Embedder
from aico_memory.models.load import ModelAccount
from aico_memory.models.twin import HashedEmbedder
from tests.models.embedder_suite import EmbedderSuite

Loaded = tuple[Embedder, ModelAccount]


class TestTwin(EmbedderSuite):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return HashedEmbedder()


class TestExport(EmbedderSuite):
    @pytest.fixture
    def embedder(self, loaded: Loaded) -> Embedder:
        return loaded[0]


def test_the_account_says_which_model_answers_and_why(loaded: Loaded) -> None:
    account = loaded[1]
    assert account.configured == "sentence-transformers/paraphrase-multilingual-mpnet-base-v2"
    assert account.served_by == "onnx", account.export_failure
    assert (account.precision, account.export_cosine >= 0.96) == ("int8", True)
    assert account.export_sentences >= 20
    if account.model != account.configured:
        assert account.source == "embedded package"
        assert "not in the hub's local cache" in account.reason


def test_meaning_counts_more_than_spelling(loaded: Loaded) -> None:
    question, answer, lookalike = loaded[0].embed(
        ["Where does my brother work?", "He is employed at the hospital as a nurse.", "Where does the river flow?"]
    )
    assert question @ answer > question @ lookalike


def test_a_long_batch_keeps_its_order(loaded: Loaded) -> None:
    texts = [f"number {at} " * (at % 37 + 1) for at in range(150)]
    rows = loaded[0].embed(texts)
    for at in (0, 36, 73, 149):
        np.testing.assert_allclose(rows[at], loaded[0].embed([texts[at]])[0], atol=2e-5)

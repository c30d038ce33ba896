"""What every embedder must do: run on the in-memory twin and on the real ones."""

from __future__ import annotations

import numpy as np
import pytest

from aico_memory.models.embedder import Embedder

TEXTS = [
    "I moved to Lisbon in March.",
    "Die Sitzung ist am Dienstag um neun.",
    "a",
    "",
    "   ",
    "word " * 600,
    "我对花生过敏。",
    "🙂",
]


class EmbedderSuite:
    """Inherit it and give the fixture `embedder`."""

    @pytest.fixture
    def embedder(self) -> Embedder:
        raise NotImplementedError

    def test_every_vector_has_length_one_and_the_dimension_told(self, embedder: Embedder) -> None:
        rows = embedder.embed(TEXTS)
        assert rows.shape == (len(TEXTS), embedder.dimension)
        assert rows.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)

    def test_a_text_has_the_same_vector_alone_and_in_a_batch_in_any_place(self, embedder: Embedder) -> None:
        together, reversed_ = embedder.embed(TEXTS), embedder.embed(TEXTS[::-1])[::-1]
        alone = np.vstack([embedder.embed([text]) for text in TEXTS])
        np.testing.assert_allclose(together, alone, atol=2e-5)
        np.testing.assert_allclose(together, reversed_, atol=2e-5)

    def test_no_texts_give_no_rows(self, embedder: Embedder) -> None:
        assert embedder.embed([]).shape == (0, embedder.dimension)

    def test_the_same_text_twice_has_the_same_vector(self, embedder: Embedder) -> None:
        first, second = embedder.embed(["The red bicycle.", "The red bicycle."])
        np.testing.assert_allclose(first, second, atol=1e-6)

    def test_near_duplicates_are_closer_than_unrelated_texts(self, embedder: Embedder) -> None:
        near, nearer, far = embedder.embed(
            ["My sister lives in Toronto.", "My sister lived in Toronto", "The recipe needs four eggs and some flour."]
        )
        assert near @ nearer > near @ far + 0.2

    def test_the_fingerprint_names_model_dimension_and_hash(self, embedder: Embedder) -> None:
        model, dimension, digest = embedder.fingerprint.split("|")
        assert (model, int(dimension)) == (embedder.model, embedder.dimension)
        assert digest

"""The export against sentence-transformers itself, and the reference where there is no export."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from aico_memory.errors import ModelUnavailable
from aico_memory.models.check_sentences import CHECK_SENTENCES
from aico_memory.models.embedder import Embedder
from aico_memory.models.load import ModelAccount, load_embedder
from aico_memory.settings.models import ModelSettings
from tests.models.embedder_suite import TEXTS, EmbedderSuite
from tests.support.exports import export_folder
from tests.support.tiny_model import save_tiny_model

Loaded = tuple[Embedder, ModelAccount]
NEW_SENTENCES = (
    "Her flight lands at 7:45 pm.", "Οι γονείς μου μένουν στη Θεσσαλονίκη.", "मुझे मसालेदार खाना पसंद है।", "ภาษาไทยไม่มีช่องว่าง",
    "x" * 3000, "éèêë ÀÉÎ ñ ß ı İ", "1 2 3 4 5 6 7 8 9 10", "\u200b", "don’t “quote” — me…",
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def loud_libraries() -> Iterator[None]:
    # torch and transformers warn of their own deprecations while they are imported.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture(scope="module")
def reference() -> Iterator[Loaded]:
    embedder, account = load_embedder(ModelSettings(serve_by="reference"), export_folder(), {})
    yield embedder, account
    embedder.close()


@pytest.mark.filterwarnings("ignore")
class TestReference(EmbedderSuite):
    @pytest.fixture
    def embedder(self, reference: Loaded) -> Embedder:
        return reference[0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("precision", "least", "usual"), [("float32", 0.9999, 0.9999), ("int8", 0.96, 0.985)])
def test_the_export_agrees_with_the_reference_on_sentences_it_was_not_checked_with(
    reference: Loaded, precision: Literal["float32", "int8"], least: float, usual: float
) -> None:
    settings = ModelSettings(export_folder=str(export_folder()), precision=precision)
    embedder, account = load_embedder(settings, export_folder(), {})
    texts = [*NEW_SENTENCES, *TEXTS, *CHECK_SENTENCES]
    cosines = np.einsum("ij,ij->i", embedder.embed(texts), reference[0].embed(texts))
    assert cosines.min() >= least, texts[int(cosines.argmin())]
    assert np.median(cosines) >= usual
    # What vectors are stored under says how they were made.
    assert (account.precision, embedder.fingerprint == reference[0].fingerprint) == (precision, precision == "float32")
    assert reference[1].served_by == "reference"
    embedder.close()


def test_a_text_has_the_same_vector_alone_and_beside_others(loaded: Loaded) -> None:
    together = loaded[0].embed(NEW_SENTENCES)
    alone = np.concatenate([loaded[0].embed([text]) for text in NEW_SENTENCES])
    assert loaded[1].precision == "int8"
    assert np.array_equal(together, alone)


@pytest.mark.filterwarnings("ignore")
def test_where_the_export_fails_the_reference_serves_and_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ModelUnavailable("The export disagrees with its reference: cosine 0.71")

    monkeypatch.setattr("aico_memory.models.load.ensure_export", fail)
    embedder, account = load_embedder(ModelSettings(), tmp_path, {})
    assert (account.served_by, account.export_cosine) == ("reference", 0.0)
    assert "cosine 0.71" in account.export_failure
    assert embedder.embed(["still here"]).shape == (1, 384)


@pytest.mark.filterwarnings("ignore")
def test_a_configured_multilingual_model_in_a_folder_is_exported_for_real(tmp_path: Path) -> None:
    folder = tmp_path / "tiny-multilingual-xlmr"
    save_tiny_model(folder)
    embedder, account = load_embedder(ModelSettings(embedding=str(folder), embedding_required=True), tmp_path / "model", {})
    assert (account.source, account.served_by, account.exported_now) == ("folder", "onnx", True), account
    assert account.export_cosine >= 0.9999
    assert account.fingerprint.startswith("tiny-multilingual-xlmr|48|")
    assert embedder.languages == ()
    assert embedder.embed(["bir", "iki üç"]).shape == (2, 48)


@pytest.mark.filterwarnings("ignore")
def test_a_pooling_without_export_is_served_by_the_reference_and_says_why(tmp_path: Path) -> None:
    folder = tmp_path / "tiny-max"
    save_tiny_model(folder, pooling="max")
    _, account = load_embedder(ModelSettings(embedding=str(folder)), tmp_path / "model", {})
    assert account.served_by == "reference"
    assert "Pooling by max" in account.export_failure

"""Finding weights without a hub, fast and clearly."""

from __future__ import annotations

import json
import os
from pathlib import Path
from time import monotonic

import pytest

from aico_memory.errors import ModelUnavailable
from aico_memory.models.weights import (
    EMBEDDED_MODEL,
    Weights,
    choose_weights,
    dimension_of,
    fingerprint_of,
    go_offline,
    spoken_languages,
)  # fmt: skip

MISSING = "example-org/a-model-that-nobody-has-cached"


def folder_model(folder: Path, weights: bytes = b"weights") -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"hidden_size": 12}))
    (folder / "model.safetensors").write_bytes(weights)
    return folder


def test_a_model_that_is_not_cached_fails_at_once_and_says_what_to_do() -> None:
    started = monotonic()
    with pytest.raises(ModelUnavailable, match="not in the hub's local cache") as caught:
        choose_weights(MISSING, required=True)
    # Without a bound the hub would be asked again and again; how fast it is on a busy machine says nothing.
    assert monotonic() - started < 60
    assert "hf download" in caught.value.mend


def test_a_model_in_the_hub_s_cache_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    kept = tmp_path / "models--example-org--multilingual-x"
    folder = folder_model(kept / "snapshots" / "abc123")
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text("abc123\n")
    chosen = choose_weights("example-org/multilingual-x", required=True)
    assert (chosen.source, chosen.folder, chosen.languages) == ("hub cache", folder, ())
    (kept / "refs" / "main").write_text("an-interrupted-download")
    with pytest.raises(ModelUnavailable, match="not in the hub's local cache"):
        choose_weights("example-org/multilingual-x", required=True)


def test_the_embedded_model_answers_where_the_configured_one_is_missing() -> None:
    chosen = choose_weights(MISSING)
    assert (chosen.model, chosen.source, chosen.languages) == (EMBEDDED_MODEL, "embedded package", ("en",))
    assert MISSING in chosen.reason
    assert dimension_of(chosen) == 384


def test_a_folder_is_taken_where_it_is_complete(tmp_path: Path) -> None:
    folder = folder_model(tmp_path / "multilingual-model")
    chosen = choose_weights(str(folder), required=True)
    assert (chosen.source, chosen.folder) == ("folder", folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelUnavailable, match="incomplete"):
        choose_weights(str(folder), required=True)


def test_other_weights_have_another_fingerprint_and_a_remembered_hash_is_not_trusted_for_them(tmp_path: Path) -> None:
    folder, remembered = folder_model(tmp_path / "model"), tmp_path / "weights.json"
    weights = Weights("model", folder, "folder", "", ())
    first = fingerprint_of(weights, remembered)
    assert first.startswith("model|12|")
    assert fingerprint_of(weights, remembered) == first
    (folder / "model.safetensors").write_bytes(b"changed")
    os.utime(folder / "model.safetensors", ns=(1, 1))
    assert fingerprint_of(weights, remembered) != first
    remembered.write_text("{ torn")
    (folder / "model.safetensors").write_bytes(b"weights")
    assert fingerprint_of(weights, remembered) == first


def test_going_offline_sets_what_the_libraries_read() -> None:
    environment: dict[str, str] = {}
    go_offline(environment, threads=1)
    assert environment["HF_HUB_OFFLINE"] == environment["TRANSFORMERS_OFFLINE"] == "1"
    assert environment["HF_HUB_DISABLE_TELEMETRY"] == environment["OMP_NUM_THREADS"] == "1"


@pytest.mark.parametrize(
    ("name", "languages"),
    [("sentence-transformers/paraphrase-multilingual-mpnet-base-v2", ()), ("sentence-transformers/all-mpnet-base-v2", ("en",))],
)
def test_the_name_tells_whether_a_model_speaks_every_language(name: str, languages: tuple[str, ...]) -> None:
    assert spoken_languages(name) == languages

"""Exports are made whole, checked, found again, and made again where they are damaged."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from aico_memory.errors import ModelUnavailable
from aico_memory.models.check_sentences import CHECK_SENTENCES
from aico_memory.models.embedder import Embedder, Vectors
from aico_memory.models.export_store import Export, ensure_export
from aico_memory.models.onnx_export import ORPHANED
from aico_memory.models.twin import HashedEmbedder
from aico_memory.models.weights import Weights, choose_weights
from tests.support.exports import export_folder

WEIGHTS = Weights("model", Path("nowhere"), "folder", "", ())
FINGERPRINT = "model|256|abc"


class FileEmbedder(HashedEmbedder):
    """Serves what lies in `model.onnx`: a sign that its vectors are multiplied with."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._sign = float((folder / "model.onnx").read_text())

    def embed(self, texts: Sequence[str]) -> Vectors:
        return super().embed(texts) * np.float32(self._sign)


class Exporter:
    """Writes the files of an export; counts how often."""

    def __init__(self, sign: str = "1.0") -> None:
        self.made = 0
        self.sign = sign

    def __call__(self, weights: Weights, into: Path, timeout: float, precision: str) -> None:
        self.made += 1
        (into / "model.onnx").write_text(self.sign)
        (into / "tokenizer.json").write_text("{}")
        (into / "recipe.json").write_text("{}")
        np.save(into / "reference.npy", HashedEmbedder().embed(CHECK_SENTENCES))


def ensure(root: Path, exporter: Exporter) -> tuple[Export, Embedder]:
    return ensure_export(WEIGHTS, FINGERPRINT, root, serve=FileEmbedder, least_cosine=0.9999, timeout=5.0, produce=exporter)


def test_an_export_is_made_once_and_found_again(tmp_path: Path) -> None:
    exporter = Exporter()
    first, _ = ensure(tmp_path, exporter)
    second, _ = ensure(tmp_path, exporter)
    assert (first.made_now, second.made_now, exporter.made) == (True, False, 1)
    assert first.folder == second.folder
    assert second.cosine_min == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "recipe.json", "reference.npy", "manifest.json"])
def test_a_damaged_file_leads_to_a_new_export(tmp_path: Path, name: str) -> None:
    exporter = Exporter()
    export, _ = ensure(tmp_path, exporter)
    (export.folder / name).write_bytes(b"damaged")
    again, embedder = ensure(tmp_path, exporter)
    assert (again.made_now, exporter.made) == (True, 2)
    assert embedder.embed(["x"]).shape == (1, 256)


def test_an_export_whose_vectors_moved_is_made_again_even_if_its_hashes_agree(tmp_path: Path) -> None:
    exporter = Exporter()
    export, _ = ensure(tmp_path, exporter)
    manifest = json.loads((export.folder / "manifest.json").read_text())
    (export.folder / "model.onnx").write_text("-1.0")
    import hashlib

    manifest["files"]["model.onnx"] = hashlib.sha256(b"-1.0").hexdigest()
    (export.folder / "manifest.json").write_text(json.dumps(manifest))
    assert ensure(tmp_path, exporter)[0].made_now


def test_an_export_that_disagrees_with_its_reference_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="disagrees with its reference"):
        ensure(tmp_path, Exporter(sign="-1.0"))
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".lock"] == []


def test_what_a_killed_export_left_behind_is_removed(tmp_path: Path) -> None:
    export, _ = ensure(tmp_path, Exporter())
    leftover = tmp_path / f".{export.folder.name}-killed"
    leftover.mkdir()
    (leftover / "model.onnx").write_text("half")
    ensure(tmp_path, Exporter())
    assert not leftover.exists()


def test_an_export_ends_with_the_process_that_wanted_it(tmp_path: Path) -> None:
    arguments = [str(choose_weights("x").folder), str(tmp_path), "int8"]
    command = [sys.executable, "-m", "aico_memory.models.onnx_export", *arguments]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert child.stdin is not None
    child.stdin.close()
    assert child.wait(60) == ORPHANED
    assert not (tmp_path / "recipe.json").exists()


def test_a_start_that_finds_its_export_imports_neither_torch_nor_transformers(loaded: tuple[Embedder, object]) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from aico_memory.models.load import load_embedder\n"
        "from aico_memory.settings.models import ModelSettings\n"
        "embedder, account = load_embedder(ModelSettings(), Path(sys.argv[1]))\n"
        "embedder.embed(['hello'])\n"
        "assert not account.exported_now, account\n"
        "found = {'torch', 'transformers', 'sentence_transformers'} & set(sys.modules)\n"
        "sys.exit(f'imported {found}' if found else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(export_folder())], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr

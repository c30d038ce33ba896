"""Exports on disk: made once in a child process, checked, moved into place whole, verified at every start."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aico_memory.errors import ModelUnavailable
from aico_memory.log import get_logger
from aico_memory.models.check_sentences import CHECK_SENTENCES
from aico_memory.models.embedder import Embedder, Vectors
from aico_memory.models.onnx_embedder import MODEL_FILE, RECIPE_FILE
from aico_memory.models.weights import TOKENIZER_FILE, Weights, hash_file

MANIFEST = "manifest.json"
REFERENCE = "reference.npy"
FILES = (MODEL_FILE, TOKENIZER_FILE, RECIPE_FILE, REFERENCE)
# Short sentences that are embedded at every start, to see that what is served is what was checked.
PROBES = (0, 3, 8)

log = get_logger(__name__)
Open = Callable[[Path], Embedder]
Produce = Callable[[Weights, Path, float, str], None]


@dataclass(frozen=True, slots=True)
class Export:
    """A checked export and how well it agrees with its reference."""

    folder: Path
    cosine_min: float
    sentences: int
    # True where this start made it.
    made_now: bool


def ensure_export(
    weights: Weights,
    fingerprint: str,
    root: Path,
    *,
    serve: Open,
    least_cosine: float,
    timeout: float,
    precision: str = "float32",
    produce: Produce | None = None,
) -> tuple[Export, Embedder]:
    """The export of a fingerprint and the embedder that serves it; made or made again where it is missing or damaged.

    Raises ModelUnavailable where the model has no export, or none that agrees with the reference.
    """
    root.mkdir(parents=True, exist_ok=True)
    folder = root / hashlib.sha256(fingerprint.encode()).hexdigest()[:24]
    with _only_one(folder.with_suffix(".lock")):
        for leftover in root.glob(f".{folder.name}-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        if folder.is_dir():
            try:
                return _reopen(folder, fingerprint, serve, least_cosine)
            except (ModelUnavailable, OSError, ValueError, KeyError) as error:
                log.warning("the exported model is damaged and is made again", reason=str(error))
                shutil.rmtree(folder)
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=root))
        try:
            (produce or run_exporter)(weights, temporary, timeout, precision)
            cosine = _check_and_sign(temporary, fingerprint, serve, least_cosine)
            temporary.rename(folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return Export(folder, cosine, len(CHECK_SENTENCES), True), serve(folder)


def run_exporter(weights: Weights, into: Path, timeout: float, precision: str = "float32") -> None:
    """Export in a child process, so that torch's memory ends with it."""
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "aico_memory.models.onnx_export",
        str(weights.folder),
        str(into),
        precision,
    ]
    # The child ends when this process does: the other end of its stdin closes then.
    its_end, our_end = os.pipe()
    try:
        done = subprocess.run(
            command, stdin=its_end, capture_output=True, timeout=timeout, text=True, start_new_session=True, check=False
        )
    except subprocess.TimeoutExpired:
        raise ModelUnavailable(f"The export of {weights.model} took more than {timeout:.0f} s") from None
    finally:
        os.close(its_end)
        os.close(our_end)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise ModelUnavailable(f"The export of {weights.model} failed: {last}")


def _check_and_sign(folder: Path, fingerprint: str, serve: Open, least: float) -> float:
    reference: Vectors = np.load(folder / REFERENCE)
    embedder = serve(folder)
    try:
        cosines = np.einsum("ij,ij->i", embedder.embed(CHECK_SENTENCES), reference)
    finally:
        embedder.close()
    worst = float(cosines.min())
    if not worst >= least:
        at = int(cosines.argmin())
        raise ModelUnavailable(f"The export disagrees with its reference: cosine {worst:.6f} on check sentence {at}")
    manifest = {
        "fingerprint": fingerprint,
        "sentences": _sentences_digest(),
        "cosine_min": worst,
        "files": {name: hash_file(folder / name) for name in FILES},
    }
    for name in FILES:
        _sync(folder / name)
    (folder / MANIFEST).write_text(json.dumps(manifest, sort_keys=True, indent=1), encoding="utf-8")
    _sync(folder / MANIFEST)
    return worst


def _reopen(folder: Path, fingerprint: str, serve: Open, least: float) -> tuple[Export, Embedder]:
    manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    if manifest["fingerprint"] != fingerprint or manifest["sentences"] != _sentences_digest():
        raise ModelUnavailable("it belongs to another model or check")
    for name, digest in manifest["files"].items():
        if hash_file(folder / name) != digest:
            raise ModelUnavailable(f"{name} is not what was checked")
    reference: Vectors = np.load(folder / REFERENCE)
    embedder = serve(folder)
    cosines = np.einsum("ij,ij->i", embedder.embed([CHECK_SENTENCES[at] for at in PROBES]), reference[list(PROBES)])
    if not float(cosines.min()) >= least:
        embedder.close()
        raise ModelUnavailable(f"its vectors have moved: cosine {float(cosines.min()):.6f}")
    return Export(folder, float(manifest["cosine_min"]), len(CHECK_SENTENCES), False), embedder


def _sentences_digest() -> str:
    return hashlib.sha256(json.dumps(CHECK_SENTENCES).encode()).hexdigest()[:16]


def _sync(file: Path) -> None:
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _only_one(path: Path) -> Iterator[None]:
    """Deployments that share an export folder make an export once."""
    with path.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield

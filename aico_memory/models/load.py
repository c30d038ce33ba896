"""From settings to an embedder that answers, with an account of what was chosen and why."""

from __future__ import annotations

import os
import time
from collections.abc import MutableMapping
from dataclasses import asdict, dataclass
from pathlib import Path

from aico_memory.errors import ModelUnavailable
from aico_memory.log import get_logger
from aico_memory.models.embedder import Embedder
from aico_memory.models.export_store import Export, ensure_export
from aico_memory.models.onnx_embedder import OnnxEmbedder
from aico_memory.models.reference import ReferenceEmbedder
from aico_memory.models.weights import Weights, choose_weights, fingerprint_of, go_offline
from aico_memory.settings.models import ModelSettings

CUDA_BATCH_FACTOR = 10
HASHES = "weights.json"
# What a fingerprint says of an export: vectors of other numbers are those of another model.
NUMBERS = {"float32": "", "int8": "uint8"}

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ModelAccount:
    """Which model answers, where it came from, and how it is served; part of the status."""

    configured: str
    model: str
    fingerprint: str
    # Where the weights were found, and why this model.
    source: str
    reason: str
    # "onnx" or "reference", and why not the export where it is not.
    served_by: str
    # "int8" or "float32".
    precision: str
    export_failure: str
    # Least cosine between export and reference, over this many sentences; 0 where there is no export.
    export_cosine: float
    export_sentences: int
    exported_now: bool
    device: str
    seconds: float

    def as_status(self) -> dict[str, object]:
        """Plain values for the status."""
        return asdict(self)


def load_embedder(
    settings: ModelSettings, home_model: Path, environment: MutableMapping[str, str] | None = None
) -> tuple[Embedder, ModelAccount]:
    """The embedder of these settings; a start that finds its export imports neither torch nor transformers."""
    started = time.monotonic()
    go_offline(os.environ if environment is None else environment, settings.threads)
    root = Path(settings.export_folder).expanduser() if settings.export_folder else home_model
    weights = choose_weights(settings.embedding, settings.embedding_required)
    failure, cosine, sentences, made = "", 0.0, 0, False
    embedder: Embedder | None = None
    device = "cpu"
    precision = "float32"
    for precision in _precisions(settings):
        try:
            device = _onnx_device(settings.device)
            if device == "cuda" and precision == "int8":
                # What a quantised export saves, a graphics card has no use for.
                continue
            export, embedder = _exported(weights, root, settings, device, precision)
            cosine, sentences, made = export.cosine_min, export.sentences, export.made_now
            break
        except ModelUnavailable as error:
            failure = error.detail
            log.warning("an export does not serve", precision=precision, reason=failure)
    served_by = "onnx"
    fingerprint = embedder.fingerprint if embedder is not None else fingerprint_of(weights, root / HASHES)
    if embedder is None:
        reference = ReferenceEmbedder(weights, fingerprint, device=_torch_device(settings.device), threads=settings.threads)
        embedder, served_by, device = reference, "reference", reference.device
    account = ModelAccount(
        configured=settings.embedding,
        model=weights.model,
        fingerprint=fingerprint,
        source=weights.source,
        reason=weights.reason,
        served_by=served_by,
        precision=precision,
        export_failure=failure,
        export_cosine=round(cosine, 6),
        export_sentences=sentences,
        exported_now=made,
        device=device,
        seconds=round(time.monotonic() - started, 3),
    )
    return embedder, account


def _precisions(settings: ModelSettings) -> tuple[str, ...]:
    """Of the exports that may serve, the first choice first; none where the reference is wanted."""
    if settings.serve_by != "onnx":
        return ()
    return ("float32",) if settings.precision == "float32" else ("int8", "float32")


def _exported(weights: Weights, root: Path, settings: ModelSettings, device: str, precision: str) -> tuple[Export, Embedder]:
    """The export of that precision, made where there is none. Raises ModelUnavailable."""
    fingerprint = fingerprint_of(weights, root / HASHES, NUMBERS[precision])
    return ensure_export(
        weights,
        fingerprint,
        root,
        serve=lambda folder: _serve(folder, weights, fingerprint, settings, device),
        least_cosine=settings.check_cosine if precision == "float32" else settings.check_cosine_int8,
        timeout=settings.export_timeout_seconds,
        precision=precision,
    )


def _serve(folder: Path, weights: Weights, fingerprint: str, settings: ModelSettings, device: str) -> OnnxEmbedder:
    return OnnxEmbedder(
        folder,
        model=weights.model,
        fingerprint=fingerprint,
        languages=weights.languages,
        device=device,
        threads=settings.threads,
        batch_tokens=settings.batch_tokens * (CUDA_BATCH_FACTOR if device == "cuda" else 1),
    )


def _onnx_device(wanted: str) -> str:
    import onnxruntime

    there = "CUDAExecutionProvider" in onnxruntime.get_available_providers()
    if wanted == "cuda" and not there:
        raise ModelUnavailable("models.device is cuda, but onnxruntime has no CUDA", "Install onnxruntime-gpu, or set auto.")
    return "cuda" if there and wanted != "cpu" else "cpu"


def _torch_device(wanted: str) -> str:
    import torch

    there = bool(torch.cuda.is_available())
    if wanted == "cuda" and not there:
        raise ModelUnavailable("models.device is cuda, but no CUDA device is there", "Set models.device to auto or cpu.")
    return "cuda" if there and wanted != "cpu" else "cpu"

"""One export of the embedding model for all tests and all deployments that tests start."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from aico_memory.models import check_sentences, onnx_export


def export_folder() -> Path:
    """A folder that outlives the test run; another exporter gets another one, and every use checks what lies in it."""
    sources = b"".join(Path(str(module.__file__)).read_bytes() for module in (onnx_export, check_sentences))
    return Path(tempfile.gettempdir()) / f"aico-memory-test-export-{os.getuid()}-{hashlib.sha256(sources).hexdigest()[:12]}"

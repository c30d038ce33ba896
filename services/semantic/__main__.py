"""`python -m services.semantic`: runs the semantic worker."""

from __future__ import annotations

import os

# Before numpy is loaded: several threads for one small product wait for each other on busy cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from aico_memory.runtime.worker import run_worker
from services.semantic.handlers import build

if __name__ == "__main__":
    raise SystemExit(run_worker(build, "semantic"))

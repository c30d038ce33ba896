"""`python -m services.model`: runs the model service."""

from __future__ import annotations

from aico_memory.runtime.worker import run_worker
from services.model.handlers import build

if __name__ == "__main__":
    raise SystemExit(run_worker(build, "model"))

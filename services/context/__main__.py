"""`python -m services.context`: runs the context worker."""

from __future__ import annotations

from aico_memory.runtime.worker import run_worker
from services.context.handlers import build

if __name__ == "__main__":
    raise SystemExit(run_worker(build, "context"))

"""`python -m services.behavioral`: runs the behavioral worker."""

from __future__ import annotations

from aico_memory.runtime.worker import run_worker
from services.behavioral.handlers import build

if __name__ == "__main__":
    raise SystemExit(run_worker(build, "behavioral"))

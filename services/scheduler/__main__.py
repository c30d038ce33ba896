"""Run the scheduler's process."""

from aico_memory.runtime.worker import run_worker
from services.scheduler.handlers import build

if __name__ == "__main__":
    raise SystemExit(run_worker(build, "scheduler"))

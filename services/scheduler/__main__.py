"""Run the scheduler's process."""

from aico_memory.runtime.worker import run_worker
from services.scheduler.handlers import build

raise SystemExit(run_worker(build, "scheduler"))

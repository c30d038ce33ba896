"""Entry of the working process."""

from aico_memory.runtime.worker import run_worker
from services.working.handlers import build

if __name__ == "__main__":
    raise SystemExit(run_worker(build, "working"))

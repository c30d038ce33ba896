"""Kill every process of a deployment again and again under load; nothing acknowledged may be lost or applied twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aico_memory.bench.faults.load import START, Load
from aico_memory.client import MemoryClient
from aico_memory.paths import Home

Progress = Callable[[str], None]
PROCESSES = ("broker", "working", "semantic", "behavioral", "consolidation", "context", "model", "scheduler")
COMMAND = (sys.executable, "-m", "aico_memory.cli")
BACK_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Plan:
    """Kills of each process, and what seeds the moments."""

    kills_each: int = 13
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the kills did; all of `lost`, `doubled`, `differences` must be empty."""

    kills: dict[str, int]
    steps: int
    acknowledged: int
    lost: list[str]
    doubled: list[str]
    differences: list[str]
    seconds: float

    @property
    def held(self) -> bool:
        return not (self.lost or self.doubled or self.differences)


def run_faults(plan: Plan, progress: Progress) -> Verdict:
    """A run with kills, a run of the same steps without, and the comparison of their canonical exports."""
    before = time.monotonic()
    rng = random.Random(plan.seed)
    order = [name for name in PROCESSES for _ in range(plan.kills_each)]
    rng.shuffle(order)
    killed, load = _run(plan, rng, order, None, progress)
    progress(f"the same {load.steps} steps without kills")
    calm, _ = _run(plan, rng, (), load.steps, progress)
    return _compare(killed, calm, load, Counter(order), time.monotonic() - before)


def _run(plan: Plan, rng: random.Random, order: Sequence[str], steps: int | None, progress: Progress) -> tuple[list[str], Load]:
    with tempfile.TemporaryDirectory(prefix="bench-faults-") as folder:
        home = Home(Path(folder))
        environment = {**os.environ, "AICO_MEMORY_HOME": folder, "AICO_MEMORY_CLOCK": "manual"}
        os.environ["AICO_MEMORY_CLOCK"] = "manual"
        _command(environment, "up", "--detach", "--timeout", "180")
        try:
            _command(environment, "clock", "set", START.isoformat())
            with MemoryClient.connect(home=home.root) as client:
                load = Load(client, plan.seed, steps)
                load.consent("ada", "bruno")
                load.start()
                for number, name in enumerate(order):
                    progress(f"kill {number + 1} of {len(order)}: {name}")
                    _kill(home, name, rng, load)
                if order:
                    load.stop()
                load.join()
                if load.failure is not None:
                    raise load.failure
                progress("waiting until everything is applied")
                client.flush(600)
            return _export(environment), load
        finally:
            _command(environment, "down")


def _kill(home: Home, name: str, rng: random.Random, load: Load) -> None:
    """SIGKILL one process at a random moment while the load goes on, and wait until it is back."""
    load.progressed.clear()
    load.progressed.wait(BACK_SECONDS)
    threading.Event().wait(rng.uniform(0.0, 0.3))
    before = _row(home, name)
    os.kill(int(before["pid"]), signal.SIGKILL)
    deadline = time.monotonic() + BACK_SECONDS
    while time.monotonic() < deadline:
        row = _row(home, name)
        if row["pid"] and row["pid"] != before["pid"] and row["state"] == "running":
            return
        threading.Event().wait(0.05)
    raise TimeoutError(f"{name} did not come back within {BACK_SECONDS:.0f} s: {_row(home, name)}")


def _row(home: Home, name: str) -> dict[str, Any]:
    table = json.loads(home.process_table.read_text(encoding="utf-8"))
    rows = table["processes"] if isinstance(table, dict) else table
    found: dict[str, Any] = next(row for row in rows if row["name"] == name)
    return found


def _export(environment: dict[str, str]) -> list[str]:
    return _command(environment, "export", "--canonical").splitlines()


def _command(environment: dict[str, str], *arguments: str) -> str:
    done = subprocess.run([*COMMAND, *arguments], env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"aico-memory {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def _compare(killed: list[str], calm: list[str], load: Load, kills: Counter[str], seconds: float) -> Verdict:
    text = "\n".join(killed)
    lost = [str(each) for each in load.acknowledged if str(each) not in text]
    doubled = [line for line, times in Counter(killed).items() if times > 1]
    differences = [f"- {line}" for line in calm if line not in set(killed)] + [
        f"+ {line}" for line in killed if line not in set(calm)
    ]
    return Verdict(dict(kills), load.steps, len(load.acknowledged), lost, doubled, differences, seconds)

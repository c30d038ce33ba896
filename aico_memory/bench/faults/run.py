"""Kill every process of a deployment again and again under load; nothing acknowledged may be lost or applied twice."""

from __future__ import annotations

import json
import os
import random
import re
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
from aico_memory.clock import SharedManualClock
from aico_memory.paths import Home
from aico_memory.runtime.links import open_link
from aico_memory.runtime.settling import quiet
from aico_memory.runtime.sleeping import await_sleep

Progress = Callable[[str], None]
PROCESSES = ("broker", "working", "semantic", "behavioral", "consolidation", "context", "model", "scheduler")
COMMAND = (sys.executable, "-m", "aico_memory.cli")
BACK_SECONDS = 150.0
REST_SECONDS = 600.0
SAMPLE = 60
# What a worker goes on without, once another has been away for long, is a matter of speed as well.
_PATIENT = {
    "AICO_MEMORY_SET__write_path__work__embed_patience_seconds": "600",
    "AICO_MEMORY_SET__consolidation__settle_seconds": "600",
    "AICO_MEMORY_SET__consolidation__ask_times": "1000",
}
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Plan:
    """Kills of each process and of processes drawn by lot, and what seeds the moments."""

    kills_each: int = 13
    seed: int = 1
    kills_more: int = 0
    # Seconds between two steps of the load, and how many processes may be down at once.
    pause: float = 0.0
    down_at_once: int = 1


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the kills did; `lost`, `doubled`, `unfound` and `differences` must be empty."""

    kills: dict[str, int]
    steps: int
    acknowledged: int
    lost: list[str]
    doubled: list[str]
    # Messages that a search for their own words does not find.
    unfound: list[str]
    differences: list[str]
    sleeps: int
    answers: dict[str, int]
    seconds: float

    @property
    def held(self) -> bool:
        return not (self.lost or self.doubled or self.unfound or self.differences)


@dataclass(frozen=True, slots=True)
class _Outcome:
    export: list[str]
    unfound: list[str]
    load: Load


def run_faults(plan: Plan, progress: Progress) -> Verdict:
    """A run with kills, a run of the same steps without, and the comparison of their canonical exports."""
    before = time.monotonic()
    rng = random.Random(plan.seed)
    order = [name for name in PROCESSES for _ in range(plan.kills_each)] + rng.choices(PROCESSES, k=plan.kills_more)
    rng.shuffle(order)
    killed = _run(plan, rng, order, None, progress)
    progress(f"the same {killed.load.steps} steps without kills")
    calm = _run(plan, rng, (), killed.load.steps, progress)
    return _compare(killed, calm, Counter(order), time.monotonic() - before)


def _run(plan: Plan, rng: random.Random, order: Sequence[str], steps: int | None, progress: Progress) -> _Outcome:
    with tempfile.TemporaryDirectory(prefix="bench-faults-") as folder:
        home = Home(Path(folder))
        # When a night falls between two messages is a matter of speed; what waited for it would be judged beside others.
        unlimited = {f"AICO_MEMORY_SET__write_path__policy__{name}": "0" for name in ("session_writes", "hour_writes")}
        environment = {**os.environ, **unlimited, **_PATIENT, "AICO_MEMORY_HOME": folder, "AICO_MEMORY_CLOCK": "manual"}
        SharedManualClock(home.manual_clock, START).close()
        _command(environment, "up", "--detach", "--timeout", "180")
        try:
            with MemoryClient.connect(home=home.root) as client:
                load = Load(client, plan.seed, steps, plan.pause if order else 0.0)
                load.consent("ada", "bruno")
                load.start()
                try:
                    _kill_in_order(home, order, plan.down_at_once, rng, load, progress)
                    if order:
                        load.stop()
                    load.join()
                except BaseException:
                    load.stop()
                    raise
                if load.failure is not None:
                    raise load.failure
                progress("waiting until everything is applied")
                _rest(home, client, load)
                unfound = _unfound(client, load, random.Random(plan.seed))
            return _Outcome(_command(environment, "export", "--canonical").splitlines(), unfound, load)
        finally:
            _command(environment, "down")


def _kill_in_order(
    home: Home, order: Sequence[str], down_at_once: int, rng: random.Random, load: Load, progress: Progress
) -> None:
    victims: dict[str, int] = {}
    for number, name in enumerate(order):
        progress(f"kill {number + 1} of {len(order)}: {name}")
        if number >= down_at_once:
            earlier = order[number - down_at_once]
            _await_back(home, earlier, victims[earlier])
        victims[name] = _kill(home, name, victims.get(name, 0), rng, load)
    for name, pid in victims.items():
        _await_back(home, name, pid)


def _kill(home: Home, name: str, last: int, rng: random.Random, load: Load) -> int:
    """SIGKILL one running process at a random moment while the load goes on; the pid it had."""
    before = _await_back(home, name, last)
    load.progressed.clear()
    load.progressed.wait(BACK_SECONDS)
    threading.Event().wait(rng.uniform(0.0, 0.3))
    os.kill(before, signal.SIGKILL)
    return before


def _await_back(home: Home, name: str, other_than: int) -> int:
    """The pid of the process once it runs again."""
    deadline = time.monotonic() + BACK_SECONDS
    while True:
        row = _row(home, name)
        if row["pid"] and row["pid"] != other_than and row["state"] == "running":
            return int(row["pid"])
        if time.monotonic() > deadline:
            raise TimeoutError(f"{name} did not come back within {BACK_SECONDS:.0f} s: {row}")
        threading.Event().wait(0.05)


def _rest(home: Home, client: MemoryClient, load: Load) -> None:
    """Return when everything is applied, every night's sleep is over and nothing moves any more."""
    client.flush(REST_SECONDS)
    with open_link(home, wait_seconds=BACK_SECONDS) as link:
        for firing in load.sleeps:
            await_sleep(link, firing, REST_SECONDS)
        quiet(link, REST_SECONDS)


def _unfound(client: MemoryClient, load: Load, rng: random.Random) -> list[str]:
    """Of a sample of what was said: what its own words do not find."""
    sample = rng.sample(load.said, min(SAMPLE, len(load.said)))
    return [
        f"{user}: {text}"
        for user, text in sample
        if text not in [found["memory"] for found in client.search(text, user, top_k=5)["results"]]
    ]


def _row(home: Home, name: str) -> dict[str, Any]:
    table = json.loads(home.process_table.read_text(encoding="utf-8"))
    rows = table["processes"] if isinstance(table, dict) else table
    found: dict[str, Any] = next(row for row in rows if row["name"] == name)
    return found


def _command(environment: dict[str, str], *arguments: str) -> str:
    done = subprocess.run([*COMMAND, *arguments], env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"aico-memory {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def _compare(killed: _Outcome, calm: _Outcome, kills: Counter[str], seconds: float) -> Verdict:
    load = killed.load
    named = {uuid for line in killed.export for uuid in _UUID.findall(line)}
    left, right = set(calm.export), set(killed.export)
    return Verdict(
        kills=dict(kills),
        steps=load.steps,
        acknowledged=len(load.acknowledged),
        lost=[str(each) for each in load.acknowledged if str(each) not in named],
        doubled=[line for line, times in Counter(killed.export).items() if times > 1],
        unfound=killed.unfound + calm.unfound,
        differences=[f"- {line}" for line in calm.export if line not in right]
        + [f"+ {line}" for line in killed.export if line not in left],
        sleeps=len(load.sleeps),
        answers=dict(load.answers),
        seconds=seconds,
    )

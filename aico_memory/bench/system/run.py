"""Measure a real deployment through its client: one user with growing memory."""

from __future__ import annotations

import itertools
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from aico_memory.bench.chatter import questions, sentences
from aico_memory.bench.statistics import Spread, percentile, spread
from aico_memory.client import MemoryClient

Progress = Callable[[str], None]
BATCH = 250
MEBIBYTE = 2**20
COMMAND = (sys.executable, "-m", "aico_memory.cli")


@dataclass(frozen=True, slots=True)
class Plan:
    """Sizes of one user's memory, questions per run, runs."""

    sizes: tuple[int, ...] = (1_000, 10_000)
    questions: int = 100
    runs: int = 5
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Size:
    """What was measured at one size: p50 and p95 in ms by stage, over the runs."""

    messages: int
    ingest_per_second: float
    searchable_after_s: float
    p50: dict[str, Spread]
    p95: dict[str, Spread]
    cached_p95_ms: float
    search_p95_ms: float
    # Every page a process can touch, and the same with pages that several share counted in parts: only those add up.
    resident_mib: dict[str, float]
    proportional_mib: dict[str, float]
    degraded: int


@contextmanager
def deployment() -> Iterator[Path]:
    """A fresh deployment that ends with the block."""
    home = Path(tempfile.mkdtemp(prefix="bench-system-"))
    try:
        subprocess.run(
            [*COMMAND, "--home", str(home), "up", "--detach", "--timeout", "180"], check=True, stdout=subprocess.DEVNULL
        )
        yield home
    finally:
        subprocess.run([*COMMAND, "--home", str(home), "down"], check=False, stdout=subprocess.DEVNULL)
        shutil.rmtree(home, ignore_errors=True)


def run_system(plan: Plan, progress: Progress) -> tuple[list[Size], float]:
    """One row a size, and the seconds from start to ready."""
    before = time.monotonic()
    with deployment() as home:
        ready = time.monotonic() - before
        rng = random.Random(plan.seed)
        texts, asked = sentences(rng), questions(random.Random(plan.seed + 1))
        rows, stored = [], 0
        with MemoryClient.connect(home=home) as client:
            for size in plan.sizes:
                rows.append(_measure(client, home, plan, size, size - stored, texts, asked, progress))
                stored = size
    return rows, ready


def _measure(
    client: MemoryClient,
    home: Path,
    plan: Plan,
    size: int,
    missing: int,
    texts: Iterator[str],
    asked: Iterator[str],
    say: Progress,
) -> Size:
    say(f"{size} messages: storing {missing}")
    start = time.monotonic()
    for at in range(0, missing, BATCH):
        batch = [{"role": "user", "content": text} for text in itertools.islice(texts, min(BATCH, missing - at))]
        client.add(batch, user_id="bench", session_id=f"s{at // 500}")
    published = time.monotonic() - start
    say(f"{size} messages: waiting for the indexes")
    client.flush(1800)
    searchable = time.monotonic() - start
    p50: dict[str, list[float]] = defaultdict(list)
    p95: dict[str, list[float]] = defaultdict(list)
    degraded = 0
    for turn in range(plan.runs):
        say(f"{size} messages: run {turn + 1} of {plan.runs}")
        stages: dict[str, list[float]] = defaultdict(list)
        for question in itertools.islice(asked, plan.questions):
            answer, milliseconds = _timed(partial(client.context, question, user_id="bench", session_id="s0"))
            degraded += bool(answer["degraded"])
            stages["over the bus"].append(milliseconds)
            for stage, value in answer["timings_ms"].items():
                stages[stage].append(value)
        for stage, values in stages.items():
            p50[stage].append(percentile(values, 0.5))
            p95[stage].append(percentile(values, 0.95))
    again = [_timed(lambda: client.context("Who has the spare key?", user_id="bench", session_id="s0"))[1] for _ in range(100)]
    searched = [_timed(partial(client.search, text, user_id="bench"))[1] for text in itertools.islice(asked, plan.questions)]
    resident, proportional = _memory(home)
    return Size(
        messages=size,
        ingest_per_second=missing / published,
        searchable_after_s=searchable,
        p50={stage: spread(values) for stage, values in p50.items()},
        p95={stage: spread(values) for stage, values in p95.items()},
        cached_p95_ms=percentile(again[1:], 0.95),
        search_p95_ms=percentile(searched, 0.95),
        resident_mib=resident,
        proportional_mib=proportional,
        degraded=degraded,
    )


def _timed(ask: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    answer = ask()
    return answer, (time.perf_counter() - start) * 1000


def _memory(home: Path) -> tuple[dict[str, float], dict[str, float]]:
    """Resident and proportional set size of every process, MiB."""
    done = subprocess.run([*COMMAND, "--home", str(home), "status", "--json"], check=True, capture_output=True, text=True)
    found = {each["name"]: psutil.Process(each["pid"]).memory_full_info()
             for each in json.loads(done.stdout)["processes"] if each["pid"]}  # fmt: skip
    resident = {name: info.rss / MEBIBYTE for name, info in found.items()}
    # Only Linux counts shared pages in parts; elsewhere what is a process's own is the nearest.
    return resident, {name: getattr(info, "pss", info.uss) / MEBIBYTE for name, info in found.items()}

"""One night over what was said since the last: wall time by phase, memory, and contexts while it goes on.

Everything is measured on a fresh deployment through its client. A night begins when the first message is published:
embedding happens while messages arrive, and belongs to what sleep is fed with.
"""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from aico_memory.bench.chatter import questions, sentences
from aico_memory.bench.statistics import percentile
from aico_memory.bench.system.run import COMMAND, MEBIBYTE, deployment
from aico_memory.client import MemoryClient

Progress = Callable[[str], None]
_BATCH = 250
_WAIT_SECONDS = 3600.0
_ASKED_IDLE = 60
_SAMPLE_SECONDS = 0.1
# Counts of phases that say that something was made of what was there.
WORK = ("created", "merged", "superseded", "promoted", "expired", "rested", "rehearsed", "replayed")


@dataclass(frozen=True, slots=True)
class Night:
    """What one night took and did."""

    users: int
    messages: int
    # Seconds: from the first message to searchable, and the run itself.
    told_s: float
    slept_s: float
    # Seconds by phase, summed over the users (several are at work at once).
    phases: Mapping[str, float]
    counts: Mapping[str, Mapping[str, int]]
    # Seconds that the model process computed meanwhile, over both.
    embedding_s: float
    # What all processes together took more at the worst moment than before the first message.
    extra_mib: float
    # p95 of contexts in ms, with nothing going on and during the run, and how many were asked during it.
    idle_p95_ms: float
    during_p95_ms: float
    during_asked: int
    status: str
    error: str

    @property
    def work(self) -> dict[str, int]:
        """What the phases made, by name."""
        return {name: found for name in WORK if (found := sum(counts.get(name, 0) for counts in self.counts.values()))}


def run_nights(sizes: Sequence[int], users: int, each: int, seed: int, progress: Progress) -> list[Night]:
    """One night for one user with so many messages, each on a deployment of its own; then one for many users."""
    found = [_night(1, size, seed, progress) for size in sizes]
    if users:
        found.append(_night(users, each, seed, progress))
    return found


def _night(users: int, each: int, seed: int, progress: Progress) -> Night:
    with deployment() as home, MemoryClient.connect(home=home) as client:
        names = [f"sleeper-{number}" for number in range(users)]
        watch = Watch(home)
        before_s = watch.model_seconds()
        rng = random.Random(seed)
        texts = sentences(rng)
        progress(f"{users} × {each} messages: telling")
        with watch.peak() as peak:
            started = time.monotonic()
            for name in names:
                _tell(client, name, list(itertools.islice(texts, each)))
            client.flush(_WAIT_SECONDS)
            told = time.monotonic() - started
            asked = questions(random.Random(seed + 1))
            progress(f"{users} × {each} messages: asking while nothing goes on")
            idle = [_asked(client, names[number % users], next(asked)) for number in range(_ASKED_IDLE)]
            progress(f"{users} × {each} messages: asleep")
            with _asking(home, names, asked) as during:
                started = time.monotonic()
                run = client.sleep_now((users > 1 and names) or names[0], wait=True, timeout_seconds=_WAIT_SECONDS)
                slept = time.monotonic() - started
        phases = {phase["phase"]: phase for phase in run["phases"]}
        return Night(
            users=users, messages=users * each, told_s=told, slept_s=slept,
            phases={name: float(phase["seconds"]) for name, phase in phases.items()},
            counts={name: {key: int(value) for key, value in phase["counts"].items()} for name, phase in phases.items()},
            embedding_s=watch.model_seconds() - before_s, extra_mib=peak.extra_mib,
            idle_p95_ms=percentile(idle, 0.95), during_p95_ms=percentile(during, 0.95), during_asked=len(during),
            status=run["status"], error=run["error"] or "",
        )  # fmt: skip


def _tell(client: MemoryClient, user: str, texts: Sequence[str]) -> None:
    for start in range(0, len(texts), _BATCH):
        batch = [{"role": "user", "content": text} for text in texts[start : start + _BATCH]]
        client.add(batch, user_id=user, session_id=f"s{start // 500}")


def _asked(client: MemoryClient, user: str, question: str) -> float:
    started = time.perf_counter()
    client.context(question, user_id=user, session_id="s0")
    return (time.perf_counter() - started) * 1000


@contextmanager
def _asking(home: Path, users: Sequence[str], asked: Iterator[str]) -> Iterator[list[float]]:
    """Contexts asked one after the other until the block ends, in ms."""
    found: list[float] = []
    ended = threading.Event()

    def ask() -> None:
        with MemoryClient.connect(home=home) as client:
            for number in itertools.count():
                if ended.is_set():
                    return
                found.append(_asked(client, users[number % len(users)], next(asked)))

    thread = threading.Thread(target=ask, name="asking", daemon=True)
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join()


class Watch:
    """Processor time and memory of a deployment's processes."""

    def __init__(self, home: Path) -> None:
        done = subprocess.run([*COMMAND, "--home", str(home), "status", "--json"], check=True, capture_output=True, text=True)
        shown: dict[str, Any] = json.loads(done.stdout)
        self._processes = {each["name"]: psutil.Process(each["pid"]) for each in shown["processes"] if each["pid"]}

    def model_seconds(self) -> float:
        """Processor seconds of the model process since its start."""
        times = self._processes["model"].cpu_times()
        return float(times.user + times.system)

    @contextmanager
    def peak(self) -> Iterator[Peak]:
        """Samples until the block ends."""
        found = Peak(self._mib())
        ended = threading.Event()

        def sample() -> None:
            while not ended.wait(_SAMPLE_SECONDS):
                found.highest_mib = max(found.highest_mib, self._mib())

        thread = threading.Thread(target=sample, name="memory", daemon=True)
        thread.start()
        try:
            yield found
        finally:
            ended.set()
            thread.join()

    def _mib(self) -> float:
        return sum(process.memory_info().rss for process in self._processes.values()) / MEBIBYTE


@dataclass(slots=True)
class Peak:
    """Resident memory of all processes together, MiB."""

    first_mib: float
    highest_mib: float = 0.0

    @property
    def extra_mib(self) -> float:
        return max(0.0, self.highest_mib - self.first_mib)

"""Measure a real deployment through its client: one user with growing memory, many users, and both while others write."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from aico_memory.bench.chatter import FRAMES, PLAIN_FRAMES, many_things, questions, sentences
from aico_memory.bench.statistics import Spread, percentile, spread
from aico_memory.client import MemoryClient

Progress = Callable[[str], None]
BATCH = 250
# Of more messages than this at once, each speaks of one of a thousand things instead of seventeen.
FEW = 10_000
MEBIBYTE = 2**20
COMMAND = (sys.executable, "-m", "aico_memory.cli")
ONE = "bench"
# Whom else the writer writes to: every other message is of the user who is asked about.
_OTHER = "bench-other"
_REPEATED = "Who has the spare key?"
_FLUSH_SECONDS = 7200.0


@dataclass(frozen=True, slots=True)
class Plan:
    """Sizes of one user's memory, questions per run, runs; users with so many messages each; messages a second beside it."""

    sizes: tuple[int, ...] = (1_000, 10_000)
    questions: int = 100
    runs: int = 5
    seed: int = 1
    users: int = 0
    each: int = 100
    writes: float = 0.0
    # Messages of many, and of one beyond FEW, state nothing: records only.
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured in one situation: p50 and p95 in ms by stage, over the runs."""

    situation: str
    messages: int
    users: int
    # Messages a second that were acknowledged while it was asked.
    writes_per_second: float
    # Of what was stored for this row; 0 where it asks what was there already.
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
def deployment(variables: Mapping[str, str] | None = None) -> Iterator[Path]:
    """A fresh deployment that ends with the block; `variables` are added to its environment."""
    home = Path(tempfile.mkdtemp(prefix="bench-system-"))
    try:
        subprocess.run(
            [*COMMAND, "--home", str(home), "up", "--detach", "--timeout", "180"], check=True, stdout=subprocess.DEVNULL,
            env={**os.environ, **(variables or {})},
        )  # fmt: skip
        yield home
    finally:
        subprocess.run([*COMMAND, "--home", str(home), "down"], check=False, stdout=subprocess.DEVNULL)
        shutil.rmtree(home, ignore_errors=True)


def run_system(plan: Plan, progress: Progress) -> tuple[list[Row], float]:
    """One row a size, one more of each while others write, one of many users; and the seconds from start to ready.

    Interrupted, it tells what was measured until then; raises KeyboardInterrupt where that is nothing.
    """
    before = time.monotonic()
    found: list[Row] = []
    with deployment() as home:
        ready = time.monotonic() - before
        with MemoryClient.connect(home=home) as client:
            try:
                for row in _Bench(client, home, plan, progress).rows():
                    found.append(row)
            except KeyboardInterrupt:
                if not found:
                    raise
                progress("interrupted: this was measured before")
    return found, ready


@dataclass(slots=True)
class _Asked:
    """Milliseconds by stage of one run after another."""

    p50: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    p95: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    degraded: int = 0


class _Bench:
    def __init__(self, client: MemoryClient, home: Path, plan: Plan, progress: Progress) -> None:
        self._client = client
        self._home = home
        self._plan = plan
        self._say = progress
        self._texts = sentences(random.Random(plan.seed))
        self._wide = sentences(random.Random(plan.seed + 4), many_things(), PLAIN_FRAMES if plan.plain else FRAMES)
        self._questions = questions(random.Random(plan.seed + 1))
        self._rng = random.Random(plan.seed + 2)

    def rows(self) -> Iterator[Row]:
        """Each situation once it has been measured."""
        plan, stored = self._plan, 0
        for size in plan.sizes:
            name = f"{size:,} messages of one user"
            speed = self._store(name, [ONE], size - stored)
            stored = size
            yield self._row(name, size, [ONE], speed)
            if plan.writes:
                beside = f"{name}, {plan.writes:g} messages a second written beside"
                yield self._row(beside, size, [ONE], (0.0, 0.0), plan.writes)
        if plan.users:
            people = [f"person-{number}" for number in range(plan.users)]
            name = f"{plan.users:,} users with {plan.each:,} messages each"
            yield self._row(name, plan.users * plan.each, people, self._store(name, people, plan.each))

    def _store(self, name: str, users: Sequence[str], each: int) -> tuple[float, float]:
        """Messages a second until they were acknowledged, and seconds until all of them were searchable."""
        self._say(f"{name}: storing {each * len(users)}")
        start = time.monotonic()
        for user in users:
            for at in range(0, each, BATCH):
                texts = itertools.islice(self._wide if each * len(users) > FEW else self._texts, min(BATCH, each - at))
                batch = [{"role": "user", "content": text} for text in texts]
                self._client.add(batch, user_id=user, session_id=f"s{at // 500}")
        published = time.monotonic() - start
        self._say(f"{name}: waiting for the indexes")
        self._client.flush(_FLUSH_SECONDS)
        return each * len(users) / published, time.monotonic() - start

    def _row(self, name: str, messages: int, users: Sequence[str], speed: tuple[float, float], writes: float = 0.0) -> Row:
        asked = _Asked()
        with writing(self._home, writes, self._plan.seed + 3) as written:
            for turn in range(self._plan.runs):
                self._say(f"{name}: run {turn + 1} of {self._plan.runs}")
                self._ask(asked, users)
            again = [_timed(partial(self._client.context, _REPEATED, users[0], session_id="s0"))[1] for _ in range(100)]
            some = itertools.islice(self._questions, self._plan.questions)
            searched = [_timed(partial(self._client.search, text, self._rng.choice(users)))[1] for text in some]
        resident, proportional = _memory(self._home)
        return Row(
            situation=name,
            messages=messages,
            users=len(users),
            writes_per_second=written.per_second,
            ingest_per_second=speed[0],
            searchable_after_s=speed[1],
            p50={stage: spread(values) for stage, values in asked.p50.items()},
            p95={stage: spread(values) for stage, values in asked.p95.items()},
            cached_p95_ms=percentile(again[1:], 0.95),
            search_p95_ms=percentile(searched, 0.95),
            resident_mib=resident,
            proportional_mib=proportional,
            degraded=asked.degraded,
        )

    def _ask(self, asked: _Asked, users: Sequence[str]) -> None:
        stages: dict[str, list[float]] = defaultdict(list)
        for question in itertools.islice(self._questions, self._plan.questions):
            user = self._rng.choice(users)
            answer, milliseconds = _timed(partial(self._client.context, question, user, session_id="s0"))
            asked.degraded += bool(answer["degraded"])
            stages["over the bus"].append(milliseconds)
            for stage, value in answer["timings_ms"].items():
                stages[stage].append(value)
            # What is left to assembly and bus: growth of memory shows there, the model's share does not.
            stages["without the embedding"].append(milliseconds - answer["timings_ms"].get("semantic.embed", 0.0))
        for stage, values in stages.items():
            asked.p50[stage].append(percentile(values, 0.5))
            asked.p95[stage].append(percentile(values, 0.95))


@dataclass(slots=True)
class Written:
    """What a writer got acknowledged."""

    messages: int = 0
    seconds: float = 0.0

    @property
    def per_second(self) -> float:
        """0 where nobody wrote."""
        return self.messages / self.seconds if self.seconds else 0.0


@contextmanager
def writing(home: Path, rate: float, seed: int) -> Iterator[Written]:
    """While the block runs, another client says `rate` messages a second: half of them of the user who is asked about."""
    written, ended = Written(), threading.Event()
    failed: list[BaseException] = []

    def write() -> None:
        texts, start = sentences(random.Random(seed)), time.monotonic()
        try:
            with MemoryClient.connect(home=home) as client:
                while not ended.wait(max(0.0, start + written.messages / rate - time.monotonic())):
                    user = _OTHER if written.messages % 2 else ONE
                    client.add([{"role": "user", "content": next(texts)}], user_id=user, session_id="beside")
                    written.messages += 1
        except Exception as error:  # raised again by the one who waits
            failed.append(error)
        written.seconds = time.monotonic() - start

    writer = threading.Thread(target=write, name="writer")
    if rate:
        writer.start()
    try:
        yield written
    finally:
        ended.set()
        if rate:
            writer.join()
    if failed:
        raise failed[0]


def _timed(ask: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    answer = ask()
    return answer, (time.perf_counter() - start) * 1000


def _memory(home: Path) -> tuple[dict[str, float], dict[str, float]]:
    """Resident and proportional set size of every process, the supervisor's and the fork server's among them, MiB."""
    done = subprocess.run([*COMMAND, "--home", str(home), "status", "--json"], check=True, capture_output=True, text=True)
    status = json.loads(done.stdout)
    pids = {each["name"]: each["pid"] for each in status["processes"]}
    pids |= {"supervisor": status["supervisor"], "fork server": status["fork_server"]}
    found = {name: psutil.Process(pid).memory_full_info() for name, pid in pids.items() if pid}
    resident = {name: info.rss / MEBIBYTE for name, info in found.items()}
    # Only Linux counts shared pages in parts; elsewhere what is a process's own is the nearest.
    return resident, {name: getattr(info, "pss", info.uss) / MEBIBYTE for name, info in found.items()}

"""Chat lines through a deployment: published as fast as it takes them, then counted by rule and asked for one by one."""

from __future__ import annotations

import asyncio
import json
import subprocess
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import psutil

from aico_memory.bench.chat.lines import Line, read_lines, repeated
from aico_memory.bench.statistics import percentile
from aico_memory.bench.system.run import COMMAND, deployment
from aico_memory.client import AsyncMemoryClient

Progress = Callable[[str], None]
# Lines that are published together, each user's in their order.
BATCH = 500
FLUSH_SECONDS = 7_200.0
PROBES = 50
LOOK_SECONDS = 1.0
MEBIBYTE = 1 << 20


@dataclass(slots=True)
class Chatted:
    """What came of it."""

    messages: int = 0
    users: int = 0
    # From the first message to the acknowledgement of the last, and until the last could be found, in s.
    published_s: float = 0.0
    searchable_s: float = 0.0
    # From an acknowledged message to one that can be found, nothing else going on, in ms.
    p50_ms: float = 0.0
    p95_ms: float = 0.0
    peak_mib: dict[str, float] = field(default_factory=dict)
    # By name: filters that matched, rules that decided, and what was done.
    filters: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    statements: int = 0
    records: int = 0
    items: Counter[str] = field(default_factory=Counter)
    dead_letters: int = 0


def run_chat(data: Path, limit: int, say: Progress) -> Chatted:
    """All lines through one fresh deployment."""
    lines = read_lines(data)
    say(f"{len(lines)} lines read")
    with deployment() as home, _peaks(home) as peaks:
        result = asyncio.run(_chat(home, repeated(lines, limit), say))
        result.dead_letters = len(_called(home, "dead-letters", "list"))
    result.peak_mib = {name: round(size / MEBIBYTE, 1) for name, size in sorted(peaks.items())}
    return result


async def _chat(home: Path, lines: Iterator[Line], say: Progress) -> Chatted:
    result, users = Chatted(), set[str]()
    async with AsyncMemoryClient.connect(home=home) as client:
        start = time.monotonic()
        while batch := list(islice(lines, BATCH)):
            by_user: dict[str, list[dict[str, Any]]] = defaultdict(list)
            for line in batch:
                by_user[line.user].append({"role": "user", "content": line.text, "timestamp": line.at})
            session = f"day-{batch[0].at.date()}"
            await asyncio.gather(*(client.add(said, user, session_id=session) for user, said in by_user.items()))
            users |= by_user.keys()
            result.messages += len(batch)
            if result.messages % (20 * BATCH) == 0:
                say(f"{result.messages} lines published")
        result.published_s = time.monotonic() - start
        say("waiting until everything can be found")
        await client.flush(FLUSH_SECONDS)
        result.searchable_s = time.monotonic() - start
        await _probe(client, sorted(users), result)
        for number, user in enumerate(sorted(users)):
            await _count(client, user, result)
            if number % 200 == 0:
                say(f"{number} of {len(users)} users counted")
    result.users = len(users)
    return result


async def _probe(client: AsyncMemoryClient, users: Sequence[str], result: Chatted) -> None:
    waited = []
    for number in range(PROBES):
        await client.add({"role": "user", "content": f"Reminder {number}: water the ferns."}, users[number % len(users)])
        start = time.perf_counter()
        await client.flush(FLUSH_SECONDS)
        waited.append((time.perf_counter() - start) * 1000)
    result.p50_ms, result.p95_ms = percentile(waited, 0.5), percentile(waited, 0.95)


async def _count(client: AsyncMemoryClient, user: str, result: Chatted) -> None:
    report = await client.shadow_report(user)
    result.statements += report["statements"]
    for counter, counts in (
        (result.filters, report["filters"]),
        (result.rules, report["rules"]),
        (result.done, report["done"]),
    ):
        counter.update(counts)
    records = await client.get_all(user, {"kind": "record"}, 100_000)
    result.records += len(records["results"])
    for fact in (await client.timeline(user))["results"]:
        result.items[f"{fact['kind']}: {_known(fact['predicate'] or '')}"] += 1


def _known(predicate: str) -> str:
    """A predicate by its family, so that counts stay readable."""
    return predicate.partition(":")[0] or "unread"


@contextmanager
def _peaks(home: Path) -> Iterator[Mapping[str, int]]:
    """Largest resident size of every process while the block runs, by name, in bytes."""
    peaks: dict[str, int] = {}
    stop = threading.Event()
    pids = {each["name"]: each["pid"] for each in _called(home, "status")["processes"] if each["pid"]}

    def look() -> None:
        while not stop.wait(LOOK_SECONDS):
            for name, pid in pids.items():
                try:
                    peaks[name] = max(peaks.get(name, 0), psutil.Process(pid).memory_info().rss)
                except psutil.NoSuchProcess:
                    continue

    thread = threading.Thread(target=look, name="peaks", daemon=True)
    thread.start()
    try:
        yield peaks
    finally:
        stop.set()
        thread.join()


def _called(home: Path, *arguments: str) -> Any:
    command = [*COMMAND, "--home", str(home), *arguments, "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

"""Selection and feedback over the bus of a deployment of its own, timed at the client."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from aico_memory.bench.chatter import THINGS, sentences
from aico_memory.bench.skills.load import Progress, load, situation
from aico_memory.bench.statistics import Spread, percentile, spread
from aico_memory.bench.system.run import COMMAND, deployment
from aico_memory.client import AsyncMemoryClient
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.paths import Home, shipped_config
from aico_memory.stores.behavioral.skill_file import FILE, load_skills

GIVEN, FRESH, TAUGHT, FEEDBACK, PUBLISH = (
    "selection, topic seen before",
    "selection, fresh topic embedding",
    "selection right after a thumb of the same user",
    "feedback, durably applied",
    "a durable publish alone",
)
# Before anything is timed: the embedding model and the caches of the code itself are warm then.
_WARM = 20
_CONSENT = topic_of(behavioral_pb2.ConsentChanged).name


@dataclass(frozen=True, slots=True)
class Plan:
    """How many users, skills a user (base skills included), thumbs of each before, and samples of each run."""

    users: int = 1_000
    skills: int = 100
    thumbs: int = 10
    samples: int = 200
    runs: int = 3
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Stage:
    """What was measured with so many users in the store: ms by what was done, over the runs."""

    users: int
    p50: dict[str, Spread]
    p95: dict[str, Spread]
    # Percentiles of the worker's own share of a selection, in ms, as it counts them itself.
    worker: dict[str, float]
    # Of the behavioral store on disk, with everything it keeps beside it.
    bytes_per_user: float
    load_seconds: float
    # CPU ms of each process while one selection of a known topic was made: what no idle machine can take away.
    cpu_ms: dict[str, float]


def run_skills(plan: Plan, say: Progress) -> list[Stage]:
    """One stage with a few users and one with all."""
    with deployment() as root:
        return asyncio.run(_stages(Home(root), plan, say))


async def _stages(home: Home, plan: Plan, say: Progress) -> list[Stage]:
    own = max(0, plan.skills - len(load_skills(shipped_config() / FILE)))
    names = [f"user{number}" for number in range(plan.users)]
    rng, stages, loaded = random.Random(plan.seed), [], 0
    async with AsyncMemoryClient.connect(home=home.root) as client:
        for count in sorted({min(10, plan.users), plan.users}):
            started = time.monotonic()
            await load(client, names[loaded:count], own, plan.thumbs, rng, say)
            seconds, loaded = time.monotonic() - started, count
            stages.append(await _stage(client, home, names[:count], plan, rng, seconds, say))
    return stages


async def _stage(
    client: AsyncMemoryClient, home: Home, users: list[str], plan: Plan, rng: random.Random, seconds: float, say: Progress
) -> Stage:
    steps = _Steps(client, users, rng)
    processes = {"client": psutil.Process(), **_processes(home)}
    kinds: dict[str, Callable[[], Awaitable[float]]] = {
        GIVEN: steps.given, FRESH: steps.fresh, TAUGHT: steps.taught, FEEDBACK: steps.feedback, PUBLISH: steps.publish,
    }  # fmt: skip
    for step in kinds.values():
        for _ in range(_WARM):
            await step()
    times: dict[str, list[list[float]]] = {what: [] for what in kinds}
    spent: dict[str, float] = {}
    for turn in range(plan.runs):
        for what, step in kinds.items():
            say(f"{len(users)} users, run {turn + 1} of {plan.runs}: {what}")
            before = _cpu_seconds(processes)
            times[what].append([await step() for _ in range(plan.samples)])
            if what == GIVEN:
                used = {name: after - before[name] for name, after in _cpu_seconds(processes).items()}
                spent = {name: spent.get(name, 0.0) + seconds for name, seconds in used.items()}
    figures: dict[str, Any] = (await client.behavior_metrics("performance"))[0]
    return Stage(
        users=len(users),
        p50={what: spread([percentile(run, 0.5) for run in runs]) for what, runs in times.items()},
        p95={what: spread([percentile(run, 0.95) for run in runs]) for what, runs in times.items()},
        worker={name: value for name, value in figures.items() if name.startswith("selection_ms")},
        bytes_per_user=_size(home.store("behavioral")) / len(users),
        load_seconds=seconds,
        cpu_ms={name: total * 1000 / (plan.runs * plan.samples) for name, total in spent.items()},
    )


def _cpu_seconds(processes: Mapping[str, psutil.Process]) -> dict[str, float]:
    found = {name: process.cpu_times() for name, process in processes.items()}
    return {name: times.user + times.system for name, times in found.items()}


class _Steps:
    """The timed steps, each in ms; one at a time, of users at random."""

    def __init__(self, client: AsyncMemoryClient, users: list[str], rng: random.Random) -> None:
        self._client = client
        self._users = users
        self._rng = rng
        self._texts = sentences(rng)

    async def given(self) -> float:
        """The caller knows intent, sentiment and time of day, and names a topic that came up before."""
        return (await self._select(self._rng.choice(self._users), self._known()))[0]

    async def fresh(self) -> float:
        """The caller knows nothing but the words: intent, sentiment and nearness of topics are asked of the model."""
        return (await self._select(self._rng.choice(self._users), {}))[0]

    async def taught(self) -> float:
        """What was learned of the user has just changed."""
        user = self._rng.choice(self._users)
        await self._judge(user)
        return (await self._select(user, self._known()))[0]

    async def feedback(self) -> float:
        """From the call to the answer, which leaves the worker after the commit that holds what was learned."""
        return await self._judge(self._rng.choice(self._users))

    async def publish(self) -> float:
        """A record that says nothing new, until it is on the broker's disk: the floor under all others."""
        user = self._rng.choice(self._users)
        started = time.perf_counter()
        await self._client.publish(_CONSENT, {"user_id": user}, user_id=user)
        return (time.perf_counter() - started) * 1000

    def _known(self) -> dict[str, str]:
        return {**situation(self._rng), "topic": self._rng.choice(THINGS)}

    async def _select(self, user: str, known: dict[str, str]) -> tuple[float, str]:
        text = next(self._texts)
        started = time.perf_counter()
        chosen = await self._client.select_skill(user, text, **known)
        elapsed = (time.perf_counter() - started) * 1000
        return elapsed, chosen["request_id"] if chosen else ""

    async def _judge(self, user: str) -> float:
        request = ""
        while not request:
            _, request = await self._select(user, self._known())
        started = time.perf_counter()
        outcome = await self._client.feedback(user, "answer", "", self._rng.choice((1, -1)), request_id=request)
        elapsed = (time.perf_counter() - started) * 1000
        if not outcome["skill_updated"]:
            raise RuntimeError(f"a thumb of {user} was not learned from: {outcome['status']}")
        return elapsed


def _processes(home: Home) -> dict[str, psutil.Process]:
    """Those that a selection passes through."""
    command = [*COMMAND, "--home", str(home.root), "status", "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = {each["name"]: each["pid"] for each in json.loads(done.stdout)["processes"]}
    return {name: psutil.Process(found[name]) for name in ("broker", "behavioral", "model")}


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())

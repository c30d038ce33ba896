"""`bench bus`: all contestants in one run, medians and ratios, held against the bars."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from aico_memory.bench.bar import Bar
from aico_memory.bench.bus.bars import REPLAY, Samples, bars
from aico_memory.bench.bus.contest import Load
from aico_memory.bench.bus.stage import Contestant, Figures, measure, measure_replay, nats, our_broker, raw_proxy, redis
from aico_memory.bench.statistics import Spread, spread

SIZES = (200, 1024, 8192)
COALESCED = 16


@dataclass(frozen=True, slots=True)
class Row:
    """One contestant under one load: the spread of every figure over the runs."""

    contestant: str
    load: str
    figures: dict[str, Spread]


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured: `runs` repetitions of about `count` messages each."""

    runs: int = 5
    count: int = 100_000
    crowd: tuple[int, ...] = (16, 64)
    # Messages of the journal that is replayed; 0: none.
    replay: int = 1_000_000


Progress = Callable[[str], None]


def loads(plan: Plan) -> Iterator[tuple[str, Load]]:
    """The loads of the benchmark, named."""
    for size in SIZES:
        count = plan.count if size < 8192 else plan.count // 5
        yield f"{size} B, 1024 in flight", Load(count, size, 1024)
    yield "1024 B, 1024 in flight, coalesced", Load(plan.count, 1024, 1024, COALESCED)
    yield "1024 B, 1 in flight", Load(max(200, plan.count // 50), 1024, 1)
    yield "1024 B, 1000 msg/s", Load(max(500, plan.count // 25), 1024, 1024, rate=1000.0)


def run_bus(plan: Plan, progress: Progress) -> tuple[list[Row], list[Bar], list[str]]:
    """Rows, bars and remarks; contestants alternate within each load so that noise hits all alike."""
    remarks = ["NATS JetStream of Debian refuses sync_interval: it does not sync to disk per acknowledgement."]
    samples: Samples = {}
    with contextlib.ExitStack() as stack:
        ours = stack.enter_context(our_broker())
        proxy = stack.enter_context(raw_proxy())
        peers = [stack.enter_context(each) for each in (redis("always"), redis("everysec"), nats())]
        found = [peer for peer in peers if peer is not None]
        if len(found) < len(peers):
            remarks.append("Not every peer is installed: run scripts/install_peers.sh for Redis and NATS.")
        for name, load in loads(plan):
            for turn in range(plan.runs):
                progress(f"{name}: run {turn + 1} of {plan.runs}")
                for contestant in (ours, proxy, *found):
                    if load.coalesce > 1 and contestant is not ours:
                        continue
                    if contestant.acknowledges:
                        _take(samples, contestant, name, load, 0)
                    if contestant.delivers:
                        _take(samples, contestant, name + ", delivered", load, 1)
        _take_requests(samples, ours, proxy, plan, progress)
        for crowd in plan.crowd:
            progress(f"{crowd} subscribers")
            _take(samples, ours, f"1024 B, {crowd} subscribers", Load(plan.count // 20, 1024, 1024), crowd)
        _take_stalled(samples, ours, plan, progress)
    if plan.replay:
        _take_replay(samples, plan, progress)
    rows = [Row(contestant, load, _spreads(figures)) for (contestant, load), figures in samples.items()]
    return rows, bars(samples), remarks


def _take(samples: Samples, peer: Contestant, name: str, load: Load, subscribers: int) -> None:
    samples.setdefault((peer.name, name), []).append(measure(peer, load, subscribers))


def _take_requests(samples: Samples, ours: Contestant, proxy: Contestant, plan: Plan, say: Progress) -> None:
    load = Load(500, 1024, 1_000_000, rate=250.0)
    for turn in range(plan.runs):
        say(f"ephemeral requests: run {turn + 1} of {plan.runs}")
        samples.setdefault((ours.name, "ephemeral, 250/s"), []).append(measure(ours, load, 1, "ephemeral"))
        samples.setdefault((proxy.name, "ephemeral, 250/s"), []).append(measure(proxy, load, 1))


def _take_stalled(samples: Samples, ours: Contestant, plan: Plan, say: Progress) -> None:
    load = Load(plan.count, 1024, 1024)
    for turn in range(plan.runs):
        say(f"one subscriber that never reads: run {turn + 1} of {plan.runs}")
        samples.setdefault((ours.name, "1024 B, beside a stalled subscriber"), []).append(measure(ours, load, 1, stalled=1))


def _take_replay(samples: Samples, plan: Plan, say: Progress) -> None:
    """A journal of its own, written once and read from the beginning in every run."""
    with our_broker() as ours:
        say(f"writing {plan.replay:,} messages to replay")
        measure(ours, Load(plan.replay, 1024, 1024, COALESCED))
        for turn in range(plan.runs):
            say(f"replay: run {turn + 1} of {plan.runs}")
            samples.setdefault((ours.name, REPLAY), []).append(measure_replay(ours, plan.replay))


def _spreads(figures: list[Figures]) -> dict[str, Spread]:
    return {name: spread([getattr(each, name) for each in figures]) for name in Figures.__dataclass_fields__}

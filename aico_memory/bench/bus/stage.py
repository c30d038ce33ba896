"""Bringing the contestants up and down, and measuring one load on one of them."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import zmq

from aico_memory.bench.bus import children
from aico_memory.bench.bus.contest import Load, Worker
from aico_memory.bench.bus.peers import free_port, nats_server, redis_server
from aico_memory.bench.bus.proxy import run_proxy
from aico_memory.bench.statistics import percentile
from aico_memory.paths import Home
from aico_memory.vault.curve_keys import add_identity, init_curve

READY_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Contestant:
    """A running peer: how its children reach it, and the process whose CPU counts."""

    name: str
    kind: str
    place: Any
    delivers: bool
    pid: int = 0
    listen_place: Any = None
    # A proxy acknowledges nothing, and blocks where nobody listens.
    acknowledges: bool = True


@dataclass(frozen=True, slots=True)
class Figures:
    """One run: throughput to the acknowledgement, to the delivery, latencies, CPU of the server."""

    acknowledged_per_second: float
    delivered_per_second: float
    ack_p50_ms: float
    ack_p99_ms: float
    deliver_p50_ms: float
    deliver_p99_ms: float
    cpu_us: float


@contextlib.contextmanager
def our_broker() -> Iterator[Contestant]:
    """The broker process on a fresh home with encryption on."""
    folder = tempfile.mkdtemp(prefix="bench-aico-")
    home = Home(Path(folder))
    home.ensure()
    init_curve(home)
    add_identity(home, "default", "client")
    add_identity(home, "operator", "operator")
    log = (home.logs / "broker.log").open("wb")
    command = [sys.executable, "-m", "services.broker", "--home", folder]
    environment = {**os.environ, "AICO_MEMORY_PASSPHRASE": "benchmark"}
    process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    try:
        _await_file(home.run / "broker.ready", process, home.logs / "broker.log")
        yield Contestant("AICO Memory", "ours", folder, True, process.pid)
    finally:
        process.terminate()
        process.wait(20)
        log.close()
        shutil.rmtree(folder, ignore_errors=True)


def _await_file(path: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while not path.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the broker did not start:\n{log.read_text()[-2000:]}")
        select.select([], [], [], 0.02)


@contextlib.contextmanager
def raw_proxy() -> Iterator[Contestant]:
    """zmq_proxy with CURVE, PULL to PUSH: loses nothing, checks nothing."""
    public, secret = zmq.curve_keypair()
    ports = (free_port(), free_port())
    worker = Worker(run_proxy, public, secret, ports)
    worker.ready()
    try:
        yield Contestant(
            "raw C proxy, CURVE", "proxy", (ports[0], public), True, listen_place=(ports[1], public), acknowledges=False
        )
    finally:
        worker.end()


@contextlib.contextmanager
def redis(appendfsync: str) -> Iterator[Contestant | None]:
    """Redis Streams, or None where the server is not installed."""
    server = redis_server(appendfsync)
    if server is None:
        yield None
        return
    with server:
        yield Contestant(server.name, "redis", server.port, False, server.pid)


@contextlib.contextmanager
def nats() -> Iterator[Contestant | None]:
    """NATS JetStream, or None where the server is not installed."""
    server = nats_server()
    if server is None:
        yield None
        return
    with server:
        yield Contestant(server.name, "nats", server.port, False, server.pid)


def measure(contestant: Contestant, load: Load, subscribers: int = 0, kind: str = "", stalled: int = 0) -> Figures:
    """One run of one load; `subscribers` receive everything, `stalled` more subscribe and never read."""
    kind = kind or contestant.kind
    place = contestant.listen_place or contestant.place
    sleepers = [Worker(children.idle_subscriber, kind, place) for _ in range(stalled)]
    listeners = [Worker(children.subscriber, kind, place, load.count) for _ in range(subscribers)]
    for worker in (*sleepers, *listeners):
        worker.ready()
    driver = Worker(children.publisher, kind, contestant.place, load)
    driver.ready()
    before = _cpu_seconds(contestant.pid)
    published = driver.outcome()
    delivered = [worker.outcome() for worker in listeners]
    cpu = _cpu_seconds(contestant.pid) - before
    for worker in sleepers:
        worker.end()
    latencies = [value for outcome in delivered for value in outcome.latencies_ms]
    last = max((outcome.last_ns for outcome in delivered), default=published.last_ns)
    return Figures(
        acknowledged_per_second=load.count / published.seconds,
        delivered_per_second=load.count / ((last - published.first_ns) / 1e9) if delivered else 0.0,
        ack_p50_ms=percentile(published.latencies_ms, 0.5),
        ack_p99_ms=percentile(published.latencies_ms, 0.99),
        deliver_p50_ms=percentile(latencies, 0.5),
        deliver_p99_ms=percentile(latencies, 0.99),
        cpu_us=cpu / load.count * 1e6,
    )


def measure_replay(contestant: Contestant, count: int) -> Figures:
    """One reading of the journal from its beginning by one client."""
    reader = Worker(children.subscriber, "replay", contestant.place, count)
    reader.ready()
    before = _cpu_seconds(contestant.pid)
    outcome = reader.outcome()
    cpu = _cpu_seconds(contestant.pid) - before
    return Figures(0.0, count / outcome.seconds, 0.0, 0.0, 0.0, 0.0, cpu / count * 1e6)


def _cpu_seconds(pid: int) -> float:
    if not pid:
        return 0.0
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)

"""What every contestant of the bus benchmark offers, and how one run is measured.

Publisher and subscriber are processes of their own; times are the machine's
monotonic clock, which all processes of one machine share.
"""

from __future__ import annotations

import multiprocessing
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any, Protocol

WINDOW_POLL_MS = 10_000


@dataclass(frozen=True, slots=True)
class Load:
    """One measured load: `rate` 0 is as fast as the window allows; `coalesce` records a frame."""

    count: int
    size: int
    in_flight: int
    coalesce: int = 1
    rate: float = 0.0


@dataclass(slots=True)
class Outcome:
    """What one process saw: seconds of the whole, and latencies in ms of a sample."""

    seconds: float = 0.0
    first_ns: int = 0
    last_ns: int = 0
    count: int = 0
    latencies_ms: list[float] = field(default_factory=list)


class Wire(Protocol):
    """A lean client of one contestant: pre-encoded messages out, acknowledgements counted in."""

    def send(self, messages: int, stamp_ns: int) -> None:
        """Send this many messages in one go, stamped with the time."""

    def receive(self, timeout_ms: int) -> int:
        """Wait for acknowledgements; returns how many arrived (0 on a time-out)."""

    def close(self) -> None: ...


class Listener(Protocol):
    """A lean subscriber of one contestant."""

    def receive(self, timeout_ms: int) -> tuple[int, list[int]]:
        """Messages that arrived, and the stamps of a sample of them."""

    def close(self) -> None: ...


def drive(wire: Wire, load: Load) -> Outcome:
    """Publish the load through a wire with its window; latency is from send to acknowledgement."""
    outcome = Outcome(count=load.count)
    sent_at: deque[tuple[int, int]] = deque()
    sent = acknowledged = 0
    step = max(1, load.coalesce)
    outcome.first_ns = start = time.monotonic_ns()
    while acknowledged < load.count:
        while sent < load.count and sent - acknowledged + step <= max(load.in_flight, step):
            if load.rate and time.monotonic_ns() < start + int(sent / load.rate * 1e9):
                break
            now = time.monotonic_ns()
            many = min(step, load.count - sent)
            wire.send(many, now)
            sent += many
            sent_at.append((sent, now))
        arrived = wire.receive(_patience(load, start, sent, acknowledged))
        if not arrived:
            if not load.rate:
                raise TimeoutError(f"no acknowledgement of {sent - acknowledged} messages in {WINDOW_POLL_MS} ms")
            continue
        acknowledged += arrived
        now = time.monotonic_ns()
        while sent_at and sent_at[0][0] <= acknowledged:
            outcome.latencies_ms.append((now - sent_at.popleft()[1]) / 1e6)
    outcome.last_ns = time.monotonic_ns()
    outcome.seconds = (outcome.last_ns - start) / 1e9
    return outcome


def _patience(load: Load, start: int, sent: int, acknowledged: int) -> int:
    if not load.rate or sent == load.count:
        return WINDOW_POLL_MS
    due = (start + int(sent / load.rate * 1e9) - time.monotonic_ns()) / 1e6
    return max(0, min(WINDOW_POLL_MS, int(due))) if sent > acknowledged or due > 1 else 0


def listen(listener: Listener, count: int) -> Outcome:
    """Receive `count` messages; latency is from the publisher's stamp."""
    outcome = Outcome()
    begun = time.monotonic_ns()
    while outcome.count < count:
        many, stamps = listener.receive(WINDOW_POLL_MS)
        if not many:
            raise TimeoutError(f"{outcome.count} of {count} messages delivered, then none for {WINDOW_POLL_MS} ms")
        outcome.last_ns = time.monotonic_ns()
        outcome.first_ns = outcome.first_ns or outcome.last_ns
        outcome.count += many
        outcome.latencies_ms += [(outcome.last_ns - stamp) / 1e6 for stamp in stamps]
    outcome.seconds = (outcome.last_ns - begun) / 1e9
    return outcome


def _child(pipe: Connection, work: Callable[..., Outcome], arguments: tuple[Any, ...]) -> None:
    try:
        pipe.send(work(*arguments, lambda: pipe.send("ready")))
    except Exception as error:  # the parent shows what the child died of
        pipe.send(error)
    finally:
        pipe.close()


class Worker:
    """A child process that says when it is ready and hands back its outcome."""

    def __init__(self, work: Callable[..., Outcome], *arguments: Any) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_child, args=(theirs, work, arguments), daemon=True)
        self._process.start()
        theirs.close()

    def ready(self, timeout: float = 30.0) -> None:
        """Wait until the child has connected."""
        answer = self._receive(timeout)
        if answer != "ready":
            raise answer if isinstance(answer, Exception) else RuntimeError(f"not ready: {answer!r}")

    def outcome(self, timeout: float = 300.0) -> Outcome:
        """Wait for the child's outcome; its exception is raised here."""
        answer = self._receive(timeout)
        self._process.join(10)
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, Outcome)
        return answer

    def end(self) -> None:
        if self._process.is_alive():
            self._process.terminate()
        self._process.join(10)

    def _receive(self, timeout: float) -> object:
        if not self._pipe.poll(timeout):
            self.end()
            raise TimeoutError(f"a benchmark process gave no answer in {timeout} s")
        return self._pipe.recv()

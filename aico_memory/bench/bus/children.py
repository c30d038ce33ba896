"""What the child processes of the bus benchmark run: picklable functions, one a role."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from aico_memory.bench.bus.contest import Listener, Load, Outcome, Wire, drive, listen
from aico_memory.bench.bus.ours import BrokerListener, BrokerReplay, BrokerWire
from aico_memory.bench.bus.peers import NatsWire, RedisWire
from aico_memory.bench.bus.proxy import ProxyListener, ProxyWire
from aico_memory.paths import Home

Ready = Callable[[], None]


def make_wire(kind: str, place: Any, size: int) -> Wire:
    """A publisher of one contestant; `place` is a port, (port, key) or a home's path."""
    if kind == "redis":
        return RedisWire(place, size)
    if kind == "nats":
        return NatsWire(place, size)
    if kind == "proxy":
        port, public = place
        return ProxyWire(port, public, size)
    return BrokerWire(Home(Path(place)), size, ephemeral=kind == "ephemeral")


def make_listener(kind: str, place: Any) -> Listener:
    """A subscriber of one contestant."""
    if kind == "proxy":
        return ProxyListener(*place)
    if kind == "replay":
        return BrokerReplay(Home(Path(place)))
    return BrokerListener(Home(Path(place)), ephemeral=kind == "ephemeral")


def publisher(kind: str, place: Any, load: Load, ready: Ready) -> Outcome:
    """Child process: publish a load."""
    wire = make_wire(kind, place, load.size)
    ready()
    outcome = drive(wire, load)
    wire.close()
    return outcome


def subscriber(kind: str, place: Any, count: int, ready: Ready) -> Outcome:
    """Child process: receive a count."""
    listener = make_listener(kind, place)
    ready()
    outcome = listen(listener, count)
    listener.close()
    return outcome


def idle_subscriber(kind: str, place: Any, ready: Ready) -> Outcome:
    """Child process: subscribe and never read, until the parent ends it."""
    listener = make_listener(kind, place)
    ready()
    import threading

    threading.Event().wait()
    listener.close()
    return Outcome()

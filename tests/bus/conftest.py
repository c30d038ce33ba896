"""Brokers for the bus tests: one in a thread, one as a process, both on a home of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zmq
from google.protobuf.message import Message

from aico_memory.bus.broker import Broker
from aico_memory.clock import Clock, SystemClock
from aico_memory.contracts.envelope import make_record
from aico_memory.contracts.v1 import bus_pb2, working_pb2
from aico_memory.contracts.wire import (
    CONTRACTS,
    PROTOCOL,
    READY_PREFIX,
    Kind,
    OutgoingRecord,
    StampedRecord,
    pack_publish,
    unpack_ack,
    unpack_batch,
    unpack_range,
)
from aico_memory.ids import new_id
from aico_memory.paths import Home
from aico_memory.settings.bus import BusSettings
from aico_memory.settings.security import SecuritySettings
from aico_memory.vault.curve_keys import IdentityKeys, ensure_identity, init_curve, load_identity
from aico_memory.vault.master import open_vault

ROLES = (
    "working", "semantic", "behavioral", "consolidation", "context", "model", "scheduler",
    "client", "operator", "observer", "publisher",
)  # fmt: skip
SMALL = BusSettings(
    segment_first_bytes=1024 * 1024,
    heads_seconds=0.02,
    heads_idle_seconds=0.1,
    ban_seconds=1,
    drain_seconds=1,
    min_free_bytes=0,
)


def make_home(folder: Path) -> Home:
    """A home with CURVE keys and one identity per role; `default` has the role `client`."""
    home = Home(folder / "home")
    home.ensure()
    init_curve(home)
    for role in ROLES:
        ensure_identity(home, "default" if role == "client" else role, role)
    return home


class RunningBroker:
    """A broker in a thread; `stop` and `start` on the same home as often as a test likes."""

    def __init__(self, home: Home, settings: BusSettings = SMALL, clock: Clock | None = None) -> None:
        self.home = home
        self.settings = settings
        self.clock = clock or SystemClock()
        self.vault = open_vault(home, SecuritySettings(), {})
        self.broker: Broker | None = None
        self._thread: threading.Thread | None = None
        self._failure: list[BaseException] = []

    def start(self) -> RunningBroker:
        self.broker = broker = Broker(self.home, self.settings, self.vault, self.clock)
        broker.bind()
        self._thread = threading.Thread(target=self._serve, args=(broker,), name="broker")
        self._thread.start()
        assert broker.ready.wait(60)
        return self

    def stop(self) -> None:
        if self.broker is not None and self._thread is not None:
            self.broker.stop()
            self._thread.join(60)
            assert not self._thread.is_alive()
            self.broker = self._thread = None
        if self._failure:
            raise self._failure.pop()

    def _serve(self, broker: Broker) -> None:
        try:
            broker.run()
        except BaseException as error:
            self._failure.append(error)
        finally:
            broker.close()


class BrokerProcess:
    """A broker as a process of its own."""

    def __init__(self, home: Home, environment: dict[str, str] | None = None) -> None:
        self.home = home
        self.environment = {"AICO_MEMORY_SET__bus__segment_first_bytes": "1048576", **(environment or {})}
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> BrokerProcess:
        ready = self.home.run / "broker.ready"
        ready.unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "services.broker", "--home", str(self.home.root)],
            env={**os.environ, **self.environment}, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        waiting = threading.Event()
        for _ in range(1500):
            if ready.exists():
                return self
            assert self.process.poll() is None, "the broker ended at start"
            waiting.wait(0.01)
        raise AssertionError("the broker was not ready within 15 s")

    def kill(self, number: int = signal.SIGKILL) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(60)

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill(signal.SIGTERM)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return make_home(tmp_path)


@pytest.fixture
def make_broker(home: Home) -> Iterator[Callable[..., RunningBroker]]:
    """Starts brokers on the test's home with other settings or another clock."""
    made: list[RunningBroker] = []

    def make(settings: BusSettings = SMALL, clock: Clock | None = None) -> RunningBroker:
        made.append(RunningBroker(home, settings, clock).start())
        return made[-1]

    yield make
    for one in reversed(made):
        one.stop()


@pytest.fixture
def broker(make_broker: Callable[..., RunningBroker]) -> RunningBroker:
    return make_broker()


@pytest.fixture
def broker_process(home: Home) -> Iterator[BrokerProcess]:
    process = BrokerProcess(home).start()
    yield process
    process.stop()


class RawClient:
    """A client in plain pyzmq: what the broker sees of the world, honest or not."""

    def __init__(self, home: Home, identity: str = "default", keys: IdentityKeys | None = None) -> None:
        self.home = home
        self.keys = keys or load_identity(home, identity)
        self.identity = identity
        self.session = os.urandom(16)
        self.sequence = 1
        self.context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.sockets: list[zmq.Socket[bytes]] = []
        self.dealer = self.socket(zmq.DEALER, "router")

    def address(self) -> dict[str, str]:
        found: dict[str, str] = json.loads(self.home.bus_address.read_text())
        return found

    def socket(self, kind: int, endpoint: str, curve: bool = True, connect: bool = True) -> zmq.Socket[bytes]:
        made = self.context.socket(kind)
        made.linger = 0
        made.set_hwm(0)
        if curve:
            made.curve_publickey, made.curve_secretkey = self.keys.public, self.keys.secret
            made.curve_serverkey = self.address()["server_public"].encode()
        if connect:
            made.connect(self.address()[endpoint])
        self.sockets.append(made)
        return made

    def hello(self, next_sequence: int = 1) -> bus_pb2.Welcome:
        self.sequence = next_sequence
        hello = bus_pb2.Hello(
            protocol=PROTOCOL, contracts=CONTRACTS, session=self.session, next_producer_sequence=next_sequence
        )
        self.send(Kind.HELLO, hello)
        return bus_pb2.Welcome.FromString(self.receive(Kind.WELCOME))

    def send(self, kind: int, message: Message | None = None) -> None:
        self.dealer.send(bytes((kind,)) + (message.SerializeToString() if message is not None else b""))

    def receive(self, kind: int, timeout: float = 5.0, dealer: zmq.Socket[bytes] | None = None) -> bytes:
        """The body of the next frame of this kind; others are passed over, liveness probes and beacons among them."""
        deadline = time.monotonic() + timeout
        passed = []
        while True:
            frame = receive_within(dealer or self.dealer, deadline)
            if frame is None:
                raise AssertionError(f"no frame {Kind(kind).name} within {timeout} s; came: {passed}")
            if frame[0] == kind:
                return frame[1:]
            passed.append(Kind(frame[0]).name)

    def publish(self, *records: OutgoingRecord, ephemeral: bool = False) -> None:
        self.dealer.send(pack_publish(records, 0 if ephemeral else self.sequence, ephemeral))
        self.sequence += 0 if ephemeral else len(records)

    def acknowledged(self, *records: OutgoingRecord, timeout: float = 5.0) -> list[tuple[int, int]]:
        """Publish durably and wait for the acknowledgement of all."""
        first = self.sequence
        self.publish(*records)
        found: list[tuple[int, int]] = []
        while len(found) < len(records):
            start, sequences = unpack_ack(bytes((Kind.ACK,)) + self.receive(Kind.ACK, timeout))
            assert start == first + len(found)
            found += sequences
        return found

    def refusal(self, timeout: float = 5.0) -> bus_pb2.Refusal:
        return bus_pb2.Refusal.FromString(self.receive(Kind.REFUSED, timeout))

    def control(self, verb: str, **body: object) -> dict[str, Any]:
        self.send(Kind.CONTROL, bus_pb2.Control(request=7, verb=verb, body=json.dumps(body)))
        answer = bus_pb2.ControlAnswer.FromString(self.receive(Kind.CONTROL_ANSWER))
        found: dict[str, Any] = json.loads(answer.body)
        return found

    def subscribe(self, *topics: str) -> zmq.Socket[bytes]:
        """A SUB socket on which all these subscriptions stand; AssertionError where the broker does not confirm."""
        sub = self.socket(zmq.SUB, "delivery")
        for topic in topics:
            sub.subscribe(topic.encode())
        self.wait_ready(sub)
        return sub

    def wait_ready(self, sub: zmq.Socket[bytes], timeout: float = 5.0) -> None:
        ready = READY_PREFIX + self.session.hex().encode() + b"/" + os.urandom(4).hex().encode() + b"/"
        sub.subscribe(ready)
        deadline = time.monotonic() + timeout
        while True:
            frame = receive_within(sub, deadline)
            assert frame is not None, "the subscription was not confirmed"
            if frame == ready:
                return

    def read(self, *topics: str, from_global: int = 1, user: str = "", limit: int = 0) -> list[StampedRecord]:
        """The whole range, chunk by chunk."""
        found: list[StampedRecord] = []
        while True:
            request = bus_pb2.RangeRequest(request=1, topics=topics, from_global=from_global, user=user, max_records=limit)
            self.send(Kind.RANGE_REQUEST, request)
            head_bytes, batches = unpack_range(bytes((Kind.RANGE,)) + self.receive(Kind.RANGE))
            self.range_head = bus_pb2.RangeHead.FromString(head_bytes)
            for batch in batches:
                found += unpack_batch(batch)[2]
            from_global = self.range_head.next_global
            if self.range_head.at_head:
                return found

    def close(self) -> None:
        for socket in self.sockets:
            socket.close(linger=0)
        self.context.term()


def receive_within(socket: zmq.Socket[bytes], deadline: float) -> bytes | None:
    """The next frame, or None where none came until the deadline (monotonic seconds)."""
    left = max(0, int((deadline - time.monotonic()) * 1000))
    return socket.recv() if socket.poll(left) else None


def make_message(user: str = "alice", content: str = "hello", event_id: uuid.UUID | None = None) -> OutgoingRecord:
    """A durable record of a person's message."""
    said = working_pb2.Message(user_id=user, session_id="s1", role="user", content=content)
    return make_record(said, event_id=event_id or new_id(), occurred_us=1, user=user)


@pytest.fixture
def connect(home: Home) -> Iterator[Callable[..., RawClient]]:
    """Connects raw clients as an identity; said Hello unless told otherwise."""
    made: list[RawClient] = []

    def make(identity: str = "default", hello: bool = True, keys: IdentityKeys | None = None) -> RawClient:
        made.append(RawClient(home, identity, keys))
        if hello:
            made[-1].hello()
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def message() -> Callable[..., OutgoingRecord]:
    """Makes records of a person's message."""
    return make_message

"""A broker in a thread that speaks the real protocol over real CURVE sockets and can be told to misbehave.

What it misdoes on demand (lose an acknowledgement, drop a live frame, fall silent) a sound broker does not
do at a time of the test's choosing. The same link is tested against the real broker beside this.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator

import pytest
import zmq
from zmq.auth.thread import ThreadAuthenticator

from aico_memory.bus.link import BusAddress, Link
from aico_memory.clock import SystemClock
from aico_memory.contracts import wire
from aico_memory.contracts.v1 import bus_pb2
from aico_memory.settings.link import LinkSettings
from aico_memory.vault.curve_keys import IdentityKeys

PATIENCE = 60.0


class FakeBroker:
    """ROUTER and XPUB, a log in memory, and knobs."""

    def __init__(self, server: tuple[bytes, bytes], known: set[bytes], ports: tuple[int, int] = (0, 0)) -> None:
        self.server = server
        self.known = known
        self.log: list[wire.StampedRecord] = []
        self.epoch = 7
        self.protocol = wire.PROTOCOL
        self.by_id: dict[bytes, wire.StampedRecord] = {}
        self.frames: list[bytes] = []
        self.hellos: list[bus_pb2.Hello] = []
        self.ranges: list[bus_pb2.RangeRequest] = []
        self.subscriptions: list[bytes] = []
        # Knobs: frames to swallow, records to refuse, live frames to drop.
        self.swallow_acks = 0
        self.swallow_publishes = 0
        self.swallow_ready = 0
        self.silent = False
        self.marks = True
        self.refuse: Callable[[bytes, bytes], bus_pb2.Refusal | None] = lambda event_id, topic: None
        self.drop_live: Callable[[wire.StampedRecord], bool] = lambda record: False
        self.deny: set[str] = set()
        self.ports = ports
        self._changed = threading.Condition()
        self._expected: dict[bytes, int] = {}
        self._topic_sequences: dict[str, int] = {}

    @property
    def address(self) -> BusAddress:
        return BusAddress(f"tcp://127.0.0.1:{self.ports[0]}", f"tcp://127.0.0.1:{self.ports[1]}", self.server[0].decode())

    def callback(self, domain: str, key: bytes) -> bool:
        return key in self.known

    def start(self) -> None:
        self._context = zmq.Context()
        self._auth = ThreadAuthenticator(self._context)
        self._auth.start()
        self._auth.configure_curve_callback(domain="fake", credentials_provider=self)
        self._router, first = self._bind(zmq.ROUTER, self.ports[0])
        self._xpub, second = self._bind(zmq.XPUB, self.ports[1])
        self._xpub.setsockopt(zmq.XPUB_VERBOSE, 1)
        self.ports = (first, second)
        self._stopping = False
        self._expected.clear()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping = True
        self._thread.join(PATIENCE)
        for socket in (self._router, self._xpub):
            socket.close(0)
        self._auth.stop()
        self._context.term()

    def wait(self, condition: Callable[[], bool]) -> None:
        """Wait until the condition holds, as seen after some frame."""
        deadline = time.monotonic() + PATIENCE
        with self._changed:
            while not condition():
                assert self._changed.wait(max(0.0, deadline - time.monotonic())), "the condition never came true"

    def append(self, topic: str, event_id: bytes, user: str, envelope: bytes, sender: str = "other") -> wire.StampedRecord:
        self._topic_sequences[topic] = self._topic_sequences.get(topic, 0) + 1
        record = wire.StampedRecord(
            topic, event_id, user, envelope, sender, len(self.log) + 1, self._topic_sequences[topic], 1_000_000
        )
        self.log.append(record)
        self.by_id[event_id] = record
        return record

    def _bind(self, kind: int, port: int) -> tuple[zmq.Socket[bytes], int]:
        socket = self._context.socket(kind)
        socket.linger = 0
        socket.curve_server = True
        socket.curve_publickey, socket.curve_secretkey = self.server
        socket.setsockopt(zmq.ZAP_DOMAIN, b"fake")
        if port:
            socket.bind(f"tcp://127.0.0.1:{port}")
            return socket, port
        return socket, socket.bind_to_random_port("tcp://127.0.0.1")

    def _run(self) -> None:
        poller = zmq.Poller()
        poller.register(self._router, zmq.POLLIN)
        poller.register(self._xpub, zmq.POLLIN)
        beacon_at = 0.0
        while not self._stopping:
            events = dict(poller.poll(20))
            if self._xpub in events:
                self._subscribed(self._xpub.recv())
            if self._router in events:
                peer, frame = self._router.recv_multipart()
                self._frame(peer, frame)
            if time.monotonic() >= beacon_at and not self.silent:
                beacon_at = time.monotonic() + 0.1
                self._mark(self._topic_sequences, 0)
            with self._changed:
                self._changed.notify_all()

    def _subscribed(self, message: bytes) -> None:
        if message[:1] != b"\1":
            return
        topic = message[1:]
        self.subscriptions.append(topic)
        if topic.startswith(wire.READY_PREFIX):
            if self.swallow_ready:
                self.swallow_ready -= 1
            elif not self.silent:
                self._xpub.send(topic)

    def _frame(self, peer: bytes, frame: bytes) -> None:
        if self.silent:
            return
        kind, body = frame[0], frame[1:]
        if kind == wire.Kind.HELLO:
            hello = bus_pb2.Hello.FromString(body)
            self.hellos.append(hello)
            self._expected[peer] = hello.next_producer_sequence
            welcome = bus_pb2.Welcome(protocol=self.protocol, epoch=self.epoch, identity="alice", role="client")
            self._send(peer, wire.Kind.WELCOME, welcome)
        elif peer not in self._expected:
            self._send(peer, wire.Kind.RESYNC, bus_pb2.Resync(hello=True))
        elif kind == wire.Kind.PUBLISH:
            self._published(peer, frame)
        elif kind == wire.Kind.SUBSCRIBE:
            check = bus_pb2.SubscribeCheck.FromString(body)
            denied = self.deny & set(check.topics)
            if denied:
                refusal = bus_pb2.Refusal(request=check.request, code="access_denied", detail=f"not {denied}", mend="Ask.")
                self._send(peer, wire.Kind.REFUSED, refusal)
            else:
                self._send(peer, wire.Kind.GRANTED, bus_pb2.Granted(request=check.request))
        elif kind == wire.Kind.RANGE_REQUEST:
            self._range(peer, bus_pb2.RangeRequest.FromString(body))
        elif kind == wire.Kind.CONTROL:
            control = bus_pb2.Control.FromString(body)
            if control.verb != "nothing":
                answer = bus_pb2.ControlAnswer(request=control.request, body=json.dumps({"verb": control.verb}))
                self._send(peer, wire.Kind.CONTROL_ANSWER, answer)
        elif kind == wire.Kind.PING:
            self._router.send_multipart([peer, bytes([wire.Kind.PONG])])

    def _published(self, peer: bytes, frame: bytes) -> None:
        if self.swallow_publishes:
            self.swallow_publishes -= 1
            return
        self.frames.append(frame)
        first, ephemeral, records = wire.unpack_publish(frame)
        if ephemeral:
            for event_id, topic, user, envelope in records:
                stamped = wire.StampedRecord(topic.decode(), event_id, user.decode(), envelope, "alice", 0, 0, 1)
                self._xpub.send(wire.pack_batch(topic.decode(), self.epoch, [stamped]))
            return
        if first != self._expected[peer]:
            self._send(peer, wire.Kind.RESYNC, bus_pb2.Resync(expected=self._expected[peer]))
            return
        self._expected[peer] += len(records)
        sequences, fresh = [], []
        for number, (event_id, topic, user, envelope) in enumerate(records, first):
            refusal = self.refuse(event_id, topic)
            if refusal is not None:
                refusal.producer_sequence = number
                self._send(peer, wire.Kind.REFUSED, refusal)
                sequences.append((0, 0))
                continue
            known = self.by_id.get(event_id)
            if known is None:
                known = self.append(topic.decode(), event_id, user.decode(), envelope, "alice")
                fresh.append(known)
            sequences.append((known.global_sequence, known.topic_sequence))
        if self.swallow_acks:
            self.swallow_acks -= 1
        else:
            self._router.send_multipart([peer, wire.pack_ack(first, sequences)])
        self.fan_out(fresh)

    def fan_out(self, fresh: list[wire.StampedRecord]) -> None:
        changed = {}
        for record in fresh:
            changed[record.topic] = record.topic_sequence
            if not self.drop_live(record):
                self._xpub.send(wire.pack_batch(record.topic, self.epoch, [record]))
        if fresh and self.marks:
            self._mark(changed, fresh[0].global_sequence - 1)

    def _mark(self, heads: dict[str, int], previous: int) -> None:
        mark = bus_pb2.Heads(epoch=self.epoch, previous=previous, **{"global": len(self.log)})
        for topic, sequence in heads.items():
            mark.heads.add(topic=topic, sequence=sequence)
        self._xpub.send(wire.HEADS_TOPIC + mark.SerializeToString())

    def _range(self, peer: bytes, ask: bus_pb2.RangeRequest) -> None:
        self.ranges.append(ask)
        wanted = [record for record in self.log[ask.from_global - 1 :] if record.topic in ask.topics]
        cut = wanted[: ask.max_records]
        at_head = len(cut) == len(wanted)
        following = len(self.log) + 1 if at_head else cut[-1].global_sequence + 1
        head = bus_pb2.RangeHead(request=ask.request, next_global=following, at_head=at_head, epoch=self.epoch)
        for topic in ask.topics:
            last = [record.topic_sequence for record in self.log[: following - 1] if record.topic == topic]
            head.positions.add(topic=topic, sequence=last[-1] if last else 0)
        batches = [wire.pack_batch(record.topic, self.epoch, [record]) for record in cut]
        self._router.send_multipart([peer, wire.pack_range(head.SerializeToString(), batches)])

    def _send(self, peer: bytes, kind: wire.Kind, message: object) -> None:
        self._router.send_multipart([peer, bytes([kind]) + message.SerializeToString()])  # type: ignore[attr-defined]


@pytest.fixture
def alice() -> IdentityKeys:
    return IdentityKeys("alice", *zmq.curve_keypair())


@pytest.fixture
def fake(alice: IdentityKeys) -> Iterator[FakeBroker]:
    """A running broker that knows alice."""
    broker = FakeBroker(zmq.curve_keypair(), {alice.public})
    broker.start()
    yield broker
    broker.silent = False
    broker.stop()


@pytest.fixture
def settings() -> LinkSettings:
    """Short pauses, so that tests are quick."""
    return LinkSettings(
        retry_seconds_first=0.02, retry_seconds_most=0.1, ping_seconds=0.2, liveness_seconds=1.0, stall_seconds=0.5
    )


@pytest.fixture
def link(fake: FakeBroker, alice: IdentityKeys, settings: LinkSettings) -> Iterator[Link]:
    """Alice's link, started."""
    with Link(lambda: fake.address, alice, settings=settings, clock=SystemClock()) as started:
        started.start()
        yield started

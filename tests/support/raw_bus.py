"""Plain pyzmq against a deployment's bus: what somebody does who does not use the client library."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

import zmq
from google.protobuf.message import Message
from zmq.utils.monitor import recv_monitor_message

from aico_memory.bus.link import BusAddress, read_address
from aico_memory.contracts.v1 import bus_pb2
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
from aico_memory.paths import Home
from aico_memory.vault.curve_keys import IdentityKeys, load_identity


class RawBus:
    """One DEALER, and SUB sockets as asked for; nothing of the client library stands between."""

    def __init__(self, address: BusAddress, keys: IdentityKeys) -> None:
        self._address = address
        self.keys = keys
        self.session = os.urandom(16)
        self.sequence = 1
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._sockets: list[zmq.Socket[bytes]] = []
        self.dealer = self._socket(zmq.DEALER)
        self.dealer.connect(address.router)

    def hello(self, next_sequence: int = 1, seconds: float = 60.0) -> bus_pb2.Welcome:
        """Introduce itself; AssertionError where no welcome comes."""
        self.sequence = next_sequence
        hello = bus_pb2.Hello(
            protocol=PROTOCOL, contracts=CONTRACTS, session=self.session, next_producer_sequence=next_sequence, software="raw"
        )
        self.send(Kind.HELLO, hello)
        return bus_pb2.Welcome.FromString(self.receive(Kind.WELCOME, seconds))

    def send(self, kind: int, message: Message | None = None) -> None:
        """One frame that is not a publish."""
        self.dealer.send(bytes((kind,)) + (b"" if message is None else message.SerializeToString()))

    def publish(self, *records: OutgoingRecord, ephemeral: bool = False) -> None:
        """One frame of records."""
        self.dealer.send(pack_publish(records, 0 if ephemeral else self.sequence, ephemeral))
        self.sequence += 0 if ephemeral else len(records)

    def acknowledged(self, *records: OutgoingRecord) -> list[tuple[int, int]]:
        """Publish durable records; their sequences, (0, 0) for a refused one."""
        self.publish(*records)
        found: list[tuple[int, int]] = []
        while len(found) < len(records):
            found += unpack_ack(bytes((Kind.ACK,)) + self.receive(Kind.ACK))[1]
        return found

    def refusal(self, seconds: float = 60.0) -> bus_pb2.Refusal:
        """The next refusal."""
        return bus_pb2.Refusal.FromString(self.receive(Kind.REFUSED, seconds))

    def receive(self, kind: int, seconds: float = 60.0) -> bytes:
        """The body of the next frame of this kind; others are passed over."""
        deadline = monotonic() + seconds
        passed: list[int] = []
        while (frame := self.next(self.dealer, deadline)) is not None:
            if frame[:1] == bytes((kind,)):
                return frame[1:]
            passed.append(frame[0] if frame else -1)
        raise AssertionError(f"no frame {Kind(kind).name} within {seconds} s; came: {passed}")

    def subscribe(self, *prefixes: bytes) -> zmq.Socket[bytes]:
        """A SUB socket that asks nobody; returns when the broker has dealt with all its subscriptions."""
        sub = self._socket(zmq.SUB)
        sub.connect(self._address.delivery)
        for prefix in prefixes:
            sub.subscribe(prefix)
        ready = READY_PREFIX + self.session.hex().encode() + b"/" + os.urandom(4).hex().encode() + b"/"
        sub.subscribe(ready)
        deadline = monotonic() + 60
        while (frame := self.next(sub, deadline)) != ready:
            assert frame is not None, "the broker did not answer the subscription"
        return sub

    def send_upstream(self, frame: bytes) -> None:
        """A frame to the delivery socket, which takes nothing but subscriptions."""
        upstream = self._socket(zmq.XSUB)
        upstream.connect(self._address.delivery)
        upstream.send(frame)
        assert upstream.poll(60_000, zmq.POLLOUT)

    def read(self, *topics: str, user: str = "") -> list[StampedRecord]:
        """Everything the journal gives this identity of these topics."""
        found: list[StampedRecord] = []
        head = bus_pb2.RangeHead(next_global=1)
        while not head.at_head:
            self.send(
                Kind.RANGE_REQUEST, bus_pb2.RangeRequest(request=1, topics=topics, from_global=head.next_global, user=user)
            )
            data, batches = unpack_range(bytes((Kind.RANGE,)) + self.receive(Kind.RANGE))
            head = bus_pb2.RangeHead.FromString(data)
            for batch in batches:
                found += unpack_batch(batch)[2]
        return found

    @staticmethod
    def next(socket: zmq.Socket[bytes], deadline: float) -> bytes | None:
        """The next frame, None where none comes until the deadline (monotonic seconds)."""
        return socket.recv() if socket.poll(max(int((deadline - monotonic()) * 1000), 0)) else None

    def close(self) -> None:
        """Close without waiting."""
        for socket in self._sockets:
            socket.close(linger=0)
        self._context.term()

    def _socket(self, kind: int) -> zmq.Socket[bytes]:
        made = self._context.socket(kind)
        self._sockets.append(made)
        made.linger = 0
        made.set_hwm(0)
        made.curve_publickey, made.curve_secretkey = self.keys.public, self.keys.secret
        made.curve_serverkey = self._address.server_public.encode()
        return made


@contextmanager
def raw_bus(home: Home, identity: str = "default", keys: IdentityKeys | None = None, hello: bool = True) -> Iterator[RawBus]:
    """A connection as an identity of the home, or with any keys."""
    bus = RawBus(read_address(home), keys or load_identity(home, identity))
    try:
        if hello:
            bus.hello()
        yield bus
    finally:
        bus.close()


FAILED = zmq.EVENT_HANDSHAKE_FAILED_AUTH | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL


def failed_handshake(home: Home, keys: IdentityKeys | None, seconds: float = 60.0) -> tuple[int, int]:
    """Event and value with which the broker refuses these keys (None: no CURVE at all); AssertionError where it does not."""
    address = read_address(home)
    with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
        socket.linger = 0
        if keys is not None:
            socket.curve_publickey, socket.curve_secretkey = keys.public, keys.secret
            socket.curve_serverkey = address.server_public.encode()
        monitor = socket.get_monitor_socket(FAILED)
        try:
            socket.connect(address.router)
            socket.send(bytes((Kind.HELLO,)))
            assert monitor.poll(int(seconds * 1000)), "the handshake was not refused"
            message = recv_monitor_message(monitor)
            assert not socket.poll(100)
            return int(message["event"]), int(message["value"])
        finally:
            # In this order: closing a socket that is still monitored hangs its I/O thread.
            socket.disable_monitor()
            monitor.close(linger=0)


def heard(sub: zmq.Socket[bytes], wanted: bytes, seconds: float = 60.0) -> bool:
    """Whether a frame that holds these bytes comes in time."""
    deadline = monotonic() + seconds
    while (frame := RawBus.next(sub, deadline)) is not None:
        if wanted in frame:
            return True
    return False

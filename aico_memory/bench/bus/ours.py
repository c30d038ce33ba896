"""The complete broker as a contestant: CURVE, access rules, sealed journal, dedup, sync before the acknowledgement."""

from __future__ import annotations

import contextlib
import os
import struct
import time

import zmq

from aico_memory.bus.address import read_address
from aico_memory.contracts import wire
from aico_memory.contracts.v1 import bus_pb2
from aico_memory.paths import Home
from aico_memory.vault.curve_keys import load_identity

STAMP = struct.Struct("<q")
TOPIC = "memory/working/message/v1/"
EPHEMERAL_TOPIC = "memory/context/search/v1/"
USER = b"bench"


def _client(
    context: zmq.Context[zmq.Socket[bytes]], kind: int, home: Home, identity: str
) -> tuple[zmq.Socket[bytes], str, str]:
    address, keys = read_address(home), load_identity(home, identity)
    sock = context.socket(kind)
    sock.curve_serverkey = address.server_public.encode()
    sock.curve_publickey, sock.curve_secretkey = keys.public, keys.secret
    sock.linger = 0
    return sock, address.router, address.delivery


def _welcomed(context: zmq.Context[zmq.Socket[bytes]], home: Home, identity: str) -> zmq.Socket[bytes]:
    """A DEALER that said Hello and was answered."""
    sock, router, _ = _client(context, zmq.DEALER, home, identity)
    sock.set_hwm(4096)
    sock.connect(router)
    session = time.monotonic_ns().to_bytes(16, "big")
    hello = bus_pb2.Hello(
        protocol=wire.PROTOCOL, contracts=wire.CONTRACTS, session=session, next_producer_sequence=1, software="bench"
    )
    sock.send(bytes([wire.Kind.HELLO]) + hello.SerializeToString())
    answer = sock.recv() if sock.poll(5000) else b""
    if answer[:1] != bytes([wire.Kind.WELCOME]):
        raise RuntimeError(f"the broker answered {answer!r}")
    return sock


class BrokerWire:
    """A bare DEALER that speaks the publish protocol with pre-encoded records."""

    def __init__(self, home: Home, size: int, identity: str = "default", ephemeral: bool = False) -> None:
        self._context = zmq.Context()
        self._socket = _welcomed(self._context, home, identity)
        self._next = 1
        self._ephemeral = ephemeral
        # Ephemeral publishes are never acknowledged: the socket having taken them is all there is.
        self._taken = 0
        topic = (EPHEMERAL_TOPIC if ephemeral else TOPIC).encode()
        envelope = STAMP.size + max(0, size - STAMP.size)
        self._head = wire.RECORD_HEAD.pack(b"\0" * 16, len(topic), len(USER), envelope)[16:] + topic + USER
        self._filler = b"x" * max(0, size - STAMP.size)
        self._prefix = (time.time_ns() // 1_000_000).to_bytes(6, "big") + b"\x70\x00"
        self._serial = (0x80 << 56) | (time.monotonic_ns() & 0xFFFFFFFF) << 24

    def send(self, messages: int, stamp_ns: int) -> None:
        serial, flags = self._serial, wire.FLAG_EPHEMERAL if self._ephemeral else 0
        first = 0 if self._ephemeral else self._next
        tail = self._head + STAMP.pack(stamp_ns) + self._filler
        records = b"".join([self._prefix + (serial + n).to_bytes(8, "big") + tail for n in range(messages)])
        self._socket.send(wire.PUBLISH_HEAD.pack(wire.Kind.PUBLISH, flags, messages, first) + records)
        self._next += messages
        self._serial = serial + messages
        self._taken += messages

    def receive(self, timeout_ms: int) -> int:
        if self._ephemeral:
            taken, self._taken = self._taken, 0
            if not taken:
                self._socket.poll(timeout_ms)
            return taken
        if not self._socket.poll(timeout_ms):
            return 0
        acknowledged = 0
        try:
            while True:
                frame = self._socket.recv(zmq.NOBLOCK)
                if frame[0] == wire.Kind.ACK:
                    acknowledged += wire.ACK_HEAD.unpack_from(frame)[2]
                elif frame[0] in {wire.Kind.REFUSED, wire.Kind.RESYNC}:
                    raise RuntimeError(f"the broker refused: {frame[1:]!r}")
        except zmq.Again:
            return acknowledged

    def close(self) -> None:
        self._socket.close()
        self._context.term()


class BrokerListener:
    """A bare SUB socket; samples the first and last stamp of every batch."""

    def __init__(self, home: Home, identity: str = "operator", ephemeral: bool = False) -> None:
        self._context = zmq.Context()
        self._socket, _, delivery = _client(self._context, zmq.SUB, home, identity)
        self._socket.set_hwm(100_000)
        topic = (EPHEMERAL_TOPIC if ephemeral else TOPIC).encode()
        self._socket.connect(delivery)
        self._socket.subscribe(topic)
        ready = wire.READY_PREFIX + os.urandom(16).hex().encode() + b"/bench/"
        self._socket.subscribe(ready)
        if not self._socket.poll(5000) or not self._socket.recv().startswith(ready):
            raise RuntimeError("the subscription was not confirmed")
        self._skip = len(topic)

    def receive(self, timeout_ms: int) -> tuple[int, list[int]]:
        if not self._socket.poll(timeout_ms):
            return 0, []
        many, stamps = 0, []
        with contextlib.suppress(zmq.Again):
            while many < 65536:
                frame = self._socket.recv(zmq.NOBLOCK)
                many += wire.BATCH_HEAD.unpack_from(frame, self._skip)[3]
                head_at = self._skip + wire.BATCH_HEAD.size
                head = wire.STAMPED_HEAD.unpack_from(frame, head_at)
                stamps.append(STAMP.unpack_from(frame, head_at + wire.STAMPED_HEAD.size + head[4] + head[5])[0])
                stamps.append(STAMP.unpack_from(frame, len(frame) - head[6])[0])
        return many, stamps

    def close(self) -> None:
        self._socket.close()
        self._context.term()


class BrokerReplay:
    """A bare DEALER that reads the journal from its beginning, one range after the other."""

    def __init__(self, home: Home, identity: str = "operator") -> None:
        self._context = zmq.Context()
        self._socket = _welcomed(self._context, home, identity)
        self._request = 0
        self._next = 1

    def receive(self, timeout_ms: int) -> tuple[int, list[int]]:
        """Records of the next range; no stamps: when they were sent says nothing about a replay."""
        self._request += 1
        question = bus_pb2.RangeRequest(request=self._request, topics=[TOPIC], from_global=self._next)
        self._socket.send(bytes([wire.Kind.RANGE_REQUEST]) + question.SerializeToString())
        if not self._socket.poll(timeout_ms):
            return 0, []
        head, batches = wire.unpack_range(self._socket.recv())
        self._next = bus_pb2.RangeHead.FromString(head).next_global
        return sum(wire.BATCH_HEAD.unpack_from(batch, len(TOPIC))[3] for batch in batches), []

    def close(self) -> None:
        self._socket.close()
        self._context.term()

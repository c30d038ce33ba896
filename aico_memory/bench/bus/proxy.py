"""The ceiling: libzmq's own proxy with CURVE on both sides, no journal, no access rules, no acknowledgement."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import zmq

from aico_memory.bench.bus.contest import Outcome

STAMP = struct.Struct("<q")
HIGH_WATER = 1024


def _secure_server(sock: zmq.Socket[bytes], secret: bytes) -> zmq.Socket[bytes]:
    sock.curve_server, sock.curve_secretkey = True, secret
    sock.set_hwm(HIGH_WATER)
    return sock


def secure_client(sock: zmq.Socket[bytes], server_public: bytes) -> zmq.Socket[bytes]:
    """A socket with fresh client keys for this server."""
    sock.curve_serverkey = server_public
    sock.curve_publickey, sock.curve_secretkey = zmq.curve_keypair()
    sock.set_hwm(HIGH_WATER)
    sock.linger = 0
    return sock


def run_proxy(public: bytes, secret: bytes, ports: Any, ready: Callable[[], None]) -> Outcome:
    """Child process: PULL → PUSH through zmq_proxy until it is terminated."""
    context = zmq.Context()
    front = _secure_server(context.socket(zmq.PULL), secret)
    back = _secure_server(context.socket(zmq.PUSH), secret)
    front.bind(f"tcp://127.0.0.1:{ports[0]}")
    back.bind(f"tcp://127.0.0.1:{ports[1]}")
    ready()
    zmq.proxy(front, back)
    return Outcome()


class ProxyWire:
    """Publisher side; a message counts as acknowledged when the socket has taken it."""

    def __init__(self, port: int, server_public: bytes, size: int) -> None:
        self._context = zmq.Context()
        self._socket = secure_client(self._context.socket(zmq.PUSH), server_public)
        self._socket.linger = 10_000
        self._socket.connect(f"tcp://127.0.0.1:{port}")
        self._filler = b"x" * max(0, size - STAMP.size)
        self._taken = 0

    def send(self, messages: int, stamp_ns: int) -> None:
        for _ in range(messages):
            self._socket.send(STAMP.pack(stamp_ns) + self._filler)
        self._taken += messages

    def receive(self, timeout_ms: int) -> int:
        taken, self._taken = self._taken, 0
        if not taken:
            zmq.Poller().poll(timeout_ms)
        return taken

    def close(self) -> None:
        self._socket.close()
        self._context.term()


class ProxyListener:
    """Subscriber side."""

    def __init__(self, port: int, server_public: bytes) -> None:
        self._context = zmq.Context()
        self._socket = secure_client(self._context.socket(zmq.PULL), server_public)
        self._socket.connect(f"tcp://127.0.0.1:{port}")

    def receive(self, timeout_ms: int) -> tuple[int, list[int]]:
        if not self._socket.poll(timeout_ms):
            return 0, []
        many, stamp = 0, 0
        try:
            while many < HIGH_WATER:
                stamp = STAMP.unpack_from(self._socket.recv(zmq.NOBLOCK))[0]
                many += 1
        except zmq.Again:
            pass
        return many, [stamp]

    def close(self) -> None:
        self._socket.close()
        self._context.term()

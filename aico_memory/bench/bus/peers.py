"""Redis Streams and NATS JetStream, driven by clients as lean as ours: bytes on a socket, acknowledgements counted."""

from __future__ import annotations

import json
import select
import shutil
import socket
import struct
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Self

STAMP = struct.Struct("<q")
CHUNK = 1 << 20


def free_port() -> int:
    """A port of the loopback interface that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """A peer's server on a free port with its data in a temporary folder."""

    def __init__(self, name: str, command: list[str], folder: str, port: int) -> None:
        self.name, self.port, self._folder = name, port, folder
        self._log = (Path(folder) / "server.log").open("wb")
        self._process = subprocess.Popen(command, stdout=self._log, stderr=self._log, cwd=folder)
        deadline = time.monotonic() + 15
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    self.close()
                    raise RuntimeError(f"{name} does not start") from None
                select.select([], [], [], 0.02)

    @property
    def pid(self) -> int:
        return self._process.pid

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(10)
        self._log.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def redis_server(appendfsync: str) -> Server | None:
    """Redis with an append-only file; None where it is not installed."""
    program = shutil.which("redis-server")
    if program is None:
        return None
    folder, port = tempfile.mkdtemp(prefix="bench-redis-"), free_port()
    options = {"port": port, "bind": "127.0.0.1", "dir": folder, "save": "", "appendonly": "yes", "appendfsync": appendfsync}
    command = [program, *(part for key, value in options.items() for part in (f"--{key}", str(value)))]
    return Server(f"Redis Streams, appendfsync {appendfsync}", command, folder, port)


def nats_server() -> Server | None:
    """NATS with JetStream on disk; None where it is not installed. It does not sync per acknowledgement."""
    program = shutil.which("nats-server") or shutil.which("/usr/sbin/nats-server")
    if program is None:
        return None
    folder, port = tempfile.mkdtemp(prefix="bench-nats-"), free_port()
    return Server(
        "NATS JetStream (no sync per ack)", [program, "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", folder], folder, port
    )


class SocketWire:
    """A socket whose acknowledgements are two lines each."""

    def __init__(self, port: int, size: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._filler = b"x" * max(0, size - STAMP.size)
        self._lines = 0

    def _await(self, timeout_ms: int) -> bytes:
        ready, _, _ = select.select([self._socket], [], [], timeout_ms / 1000)
        return self._socket.recv(CHUNK) if ready else b""

    def _count(self, data: bytes) -> int:
        self._lines += data.count(b"\n")
        whole, self._lines = divmod(self._lines, 2)
        return whole

    def receive(self, timeout_ms: int) -> int:
        while True:
            data = self._await(timeout_ms)
            if not data:
                return 0
            whole = self._count(data)
            if whole:
                return whole

    def close(self) -> None:
        self._socket.close()


class RedisWire(SocketWire):
    """XADD, pipelined."""

    def __init__(self, port: int, size: int) -> None:
        super().__init__(port, size)
        length = STAMP.size + len(self._filler)
        self._head = b"*5\r\n$4\r\nXADD\r\n$5\r\nbench\r\n$1\r\n*\r\n$1\r\nm\r\n$%d\r\n" % length

    def send(self, messages: int, stamp_ns: int) -> None:
        one = self._head + STAMP.pack(stamp_ns) + self._filler + b"\r\n"
        self._socket.sendall(one * messages)


class NatsWire(SocketWire):
    """JetStream publishes with acknowledgement, pipelined."""

    def __init__(self, port: int, size: int) -> None:
        super().__init__(port, size)
        self._tail = b""
        self._socket.sendall(b'CONNECT {"verbose":false,"pedantic":false}\r\nPING\r\n')
        self._until(b"PONG\r\n")
        config = json.dumps({"name": "bench", "subjects": ["bench.>"], "storage": "file", "num_replicas": 1}).encode()
        self._socket.sendall(b"SUB _IN.> 1\r\nPUB $JS.API.STREAM.CREATE.bench _IN.c %d\r\n%s\r\n" % (len(config), config))
        self._until(b"}\r\n")
        self._head = b"PUB bench.m _IN.a %d\r\n" % (STAMP.size + len(self._filler))

    def _until(self, end: bytes) -> None:
        data = b""
        while not data.endswith(end):
            more = self._await(5000)
            if not more:
                raise RuntimeError(f"NATS answered {data!r}")
            data += more

    def _count(self, data: bytes) -> int:
        if b"PING\r\n" in self._tail + data:
            self._socket.sendall(b"PONG\r\n")
            self._lines -= 1
        self._tail = data[-5:]
        return super()._count(data)

    def send(self, messages: int, stamp_ns: int) -> None:
        one = self._head + STAMP.pack(stamp_ns) + self._filler + b"\r\n"
        self._socket.sendall(one * messages)

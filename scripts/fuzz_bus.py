"""Throw random and mutated frames at a broker: `python scripts/fuzz_bus.py [--frames 100000] [--seed 1]`.

Starts a broker of its own on a temporary home, then sends from an authenticated
client (random bytes, and valid frames with flipped, cut, doubled and spliced
parts, single and multipart) and from outside (random bytes on both ports,
half a greeting, a connection without CURVE, unknown keys). Fails where the
broker ends, does not answer a ping, or grows beyond its bound.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import zmq

from aico_memory.contracts.envelope import make_record
from aico_memory.contracts.v1 import bus_pb2, working_pb2
from aico_memory.contracts.wire import CONTRACTS, PROTOCOL, Kind, pack_publish
from aico_memory.ids import new_id
from aico_memory.paths import Home
from aico_memory.settings.security import SecuritySettings
from aico_memory.vault.curve_keys import IdentityKeys, ensure_identity, init_curve
from aico_memory.vault.master import open_vault

GROWTH_MB = 200
_PORTION = 200
_GREETING = bytes.fromhex("ff00000000000000017f03014355525645") + bytes(47)


def valid_frames(chance: random.Random) -> list[bytes]:
    """One frame of every kind that a client sends."""
    records = [
        make_record(
            working_pb2.Message(user_id="alice", role="user", content="x" * chance.randint(1, 200)),
            event_id=new_id(), occurred_us=1, user="alice",
        )
        for _ in range(chance.randint(1, 5))
    ]  # fmt: skip
    ranges = bus_pb2.RangeRequest(request=1, topics=["memory/semantic/changed/v1/"], from_global=1)
    check = bus_pb2.SubscribeCheck(request=2, topics=["memory/semantic/changed/v1/"])
    control = bus_pb2.Control(request=3, verb="consumers", body="{}")
    ends = (1, 2, 1 << 32, (1 << 62) - 1, 1 << 63, (1 << 64) - 1)
    first = chance.choice(ends)
    hello = bus_pb2.Hello(protocol=PROTOCOL, contracts=CONTRACTS, session=chance.randbytes(16), next_producer_sequence=first)
    return [
        pack_publish(records, chance.choice((1, first)), False),
        pack_publish(records, 0, True),
        bytes((Kind.RANGE_REQUEST,)) + ranges.SerializeToString(),
        bytes((Kind.SUBSCRIBE,)) + check.SerializeToString(),
        bytes((Kind.CONTROL,)) + control.SerializeToString(),
        bytes((Kind.HELLO,)) + hello.SerializeToString(),
        bytes((Kind.PING,)),
        bytes((Kind.GOODBYE,)),
    ]


def hostile_frames(chance: random.Random, count: int) -> Iterator[list[bytes]]:
    """Messages of one or several parts: random ones and mutated ones."""
    pool = valid_frames(chance)
    for number in range(count):
        if number % 500 == 0:
            pool = valid_frames(chance)
        fate = chance.random()
        if fate < 0.25:
            frame = chance.randbytes(chance.choice((0, 1, 2, 12, 40, 300, 5000)))
        elif fate < 0.4:
            frame = bytes((chance.choice(list(Kind)),)) + chance.randbytes(chance.randint(0, 100))
        else:
            frame = mutated(chance.choice(pool), chance, pool)
        if frame[:1] == bytes((Kind.GOODBYE,)) and chance.random() < 0.95:
            # After it nothing is read any more until the next Hello.
            continue
        yield [frame] if chance.random() < 0.95 else [frame, chance.randbytes(5), chance.choice(pool)]


def mutated(frame: bytes, chance: random.Random, pool: list[bytes]) -> bytes:
    """A valid frame with one to four injuries."""
    content = bytearray(frame)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(content) + 1)
        injury = chance.randrange(5)
        if injury == 0 and content:
            content[at % len(content)] ^= 1 << chance.randrange(8)
        elif injury == 1:
            del content[at:]
        elif injury == 2:
            content[at:at] = chance.randbytes(chance.randint(1, 9))
        elif injury == 3:
            content[at:] = chance.choice(pool)[at:]
        else:
            content[at : at + 4] = chance.choice((b"\xff" * 4, bytes(4), b"\x7f\xff\xff\xff", b"\xff" * 8, bytes(8)))
    return bytes(content)


class Insider:
    """An authenticated client that sends whatever it is given and reads what comes back."""

    def __init__(self, address: dict[str, str], keys: IdentityKeys) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._address, self._keys = address, keys
        self.dealer = self._open(zmq.DEALER, "router")
        self.answers = 0

    def send(self, frames: Iterator[list[bytes]]) -> int:
        """Send all; returns how many."""
        sent = 0
        for parts in frames:
            self.dealer.send_multipart(parts)
            sent += 1
            if sent % _PORTION == 0:
                self.ping()
        self.ping()
        return sent

    def ping(self, seconds: float = 30) -> None:
        """Wait until the broker answers this very client; TimeoutError where it does not."""
        hello = bus_pb2.Hello(protocol=PROTOCOL, contracts=CONTRACTS, session=os.urandom(16), next_producer_sequence=1)
        self.dealer.send(bytes((Kind.HELLO,)) + hello.SerializeToString())
        while self.dealer.poll(int(seconds * 1000)):
            self.answers += 1
            if self.dealer.recv()[:1] == bytes((Kind.WELCOME,)):
                return
        raise TimeoutError("the broker does not answer any more")

    def control(self, verb: str) -> dict[str, object]:
        """One question to the broker."""
        self.dealer.send(bytes((Kind.CONTROL,)) + bus_pb2.Control(request=9, verb=verb, body="{}").SerializeToString())
        while self.dealer.poll(30_000):
            frame = self.dealer.recv()
            if frame[0] == Kind.CONTROL_ANSWER:
                found: dict[str, object] = json.loads(bus_pb2.ControlAnswer.FromString(frame[1:]).body)
                return found
        raise TimeoutError("the broker does not answer any more")

    def close(self) -> None:
        """Close sockets."""
        self._context.destroy(linger=0)

    def _open(self, kind: int, endpoint: str) -> zmq.Socket[bytes]:
        made = self._context.socket(kind)
        made.set_hwm(0)
        made.curve_publickey, made.curve_secretkey = self._keys.public, self._keys.secret
        made.curve_serverkey = self._address["server_public"].encode()
        made.connect(self._address[endpoint])
        return made


def attack_from_outside(address: dict[str, str], chance: random.Random, connections: int) -> int:
    """Bytes from somebody without a key; returns how many portions were sent."""
    sent = 0
    for number in range(connections):
        host, port = address[chance.choice(("router", "delivery"))].removeprefix("tcp://").split(":")
        try:
            with socket.create_connection((host, int(port)), timeout=5) as raw:
                if number % 3:
                    raw.sendall(_GREETING[: chance.randint(1, len(_GREETING))])
                for _ in range(chance.randint(1, 20)):
                    raw.sendall(chance.randbytes(chance.choice((1, 64, 1000))))
                    sent += 1
        except OSError:
            # The broker hung up, as it should.
            continue
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    for curve in (False, True):
        stranger = context.socket(zmq.DEALER)
        stranger.linger = 0
        if curve:
            stranger.curve_publickey, stranger.curve_secretkey = zmq.curve_keypair()
            stranger.curve_serverkey = address["server_public"].encode()
        stranger.connect(address["router"])
        for parts in hostile_frames(chance, 100):
            try:
                stranger.send_multipart(parts, zmq.NOBLOCK)
            except zmq.Again:
                # Refused: there is no connection any more to send over.
                break
            sent += 1
        stranger.close()
    context.term()
    return sent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--frames", type=int, default=100_000, help="frames from an authenticated client, and portions from outside"
    )
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder) / "home")
        open_vault(home, SecuritySettings(), {})
        init_curve(home)
        ensure_identity(home, "default", "client")
        ensure_identity(home, "operator", "operator")
        process = subprocess.Popen(
            [sys.executable, "-m", "services.broker", "--home", str(home.root)], stderr=subprocess.DEVNULL
        )
        try:
            return _run(home, process, options.frames, options.seed)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)


def _run(home: Home, process: subprocess.Popen[bytes], frames: int, seed: int) -> int:
    waiting = threading.Event()
    while not (home.run / "broker.ready").exists():
        if process.poll() is not None:
            raise SystemExit("the broker did not start")
        waiting.wait(0.02)
    address = json.loads(home.bus_address.read_text())
    chance = random.Random(seed)
    insider = Insider(address, ensure_identity(home, "default", "client"))
    operator = Insider(address, ensure_identity(home, "operator", "operator"))
    insider.ping()
    resident = psutil.Process(process.pid).memory_info().rss
    inside = insider.send(hostile_frames(chance, frames))
    outside = 0
    while outside < frames:
        outside += attack_from_outside(address, chance, 200)
    operator.ping()
    statistics = operator.control("statistics")
    letters = operator.control("dead_letters")["dead_letters"]
    grown = (psutil.Process(process.pid).memory_info().rss - resident) / 1e6
    assert isinstance(letters, list)
    sys.stdout.write(
        f"authenticated: {inside} frames, {insider.answers} answers; outside: {outside} portions\n"
        f"broker alive: {process.poll() is None}; memory grown by {grown:.0f} MB\n"
        f"refused: {statistics['refused']}; notices: {statistics['notices']}; handshakes: {statistics['handshakes']}\n"
        f"dead letters: {len(letters)}, e.g. {letters[0]['reason'] if letters else 'none'}\n"
    )
    insider.close()
    operator.close()
    return 0 if process.poll() is None and grown < GROWTH_MB else 1


if __name__ == "__main__":
    raise SystemExit(main())

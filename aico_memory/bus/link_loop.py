"""The I/O thread of a link: a plain poll loop around one connection at a time."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping

import zmq
from google.protobuf.message import DecodeError

from aico_memory import __version__
from aico_memory.bus.address import BusAddress
from aico_memory.bus.link_handshake import Turn, Verdict
from aico_memory.bus.link_liveness import Liveness, Way
from aico_memory.bus.link_sockets import Connection
from aico_memory.bus.link_tickets import Ticket
from aico_memory.bus.link_traffic import Traffic
from aico_memory.contracts.v1 import bus_pb2
from aico_memory.contracts.wire import CONTRACTS, PROTOCOL, Kind, OutgoingRecord
from aico_memory.errors import AicoMemoryError, BusUnavailable, ClosedConnection, VersionMismatch, from_code
from aico_memory.log import get_logger
from aico_memory.settings.link import LinkSettings
from aico_memory.vault.curve_keys import IdentityKeys

_log = get_logger(__name__)
# Frames read from one socket before the others get their turn.
_BURST = 256
# Refusals in a row before a refusal counts: a key that was just added may be read a moment later.
_REFUSALS = 2
_TICK = 0.25
# As a plain number: an enum's `&` takes longer than reading a frame.
_POLLIN = int(zmq.POLLIN)


class LinkLoop:
    """Owns the sockets. Other threads reach it through `submit` and `publish` only."""

    def __init__(
        self,
        address: Callable[[], BusAddress],
        keys: IdentityKeys,
        settings: LinkSettings,
        traffic: Traffic,
        turned: Callable[[bus_pb2.Welcome | None, AicoMemoryError | None, bool], None],
    ) -> None:
        self.traffic = traffic
        self.thread = threading.Thread(target=self._run, name=f"bus-link-{keys.name}", daemon=True)
        self._address = address
        self._keys = keys
        self._settings = settings
        self._turned = turned
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context(io_threads=1)
        self._commands: deque[Callable[[], None]] = deque()
        self._incoming: deque[tuple[OutgoingRecord, tuple[Ticket, int]]] = deque()
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        self._wake_lock = threading.Lock()
        self._end_lock = threading.RLock()
        self._woken = False
        self._ended = False
        self._connection: Connection | None = None
        self._poller = zmq.Poller()
        self._welcome: bus_pb2.Welcome | None = None
        self._hello_sent = False
        self._hello_at = 0.0
        self._attempted_at = 0.0
        self._retry_at = 0.0
        self._pause = settings.retry_seconds_first
        self._refusals = 0
        # A tick more: what a busy machine adds to every poll is no absence.
        self._liveness = Liveness(settings, 2 * _TICK)
        # A frame the socket would not take yet.
        self._held: bytes | None = None
        self._blocked = False
        self._stop_at: float | None = None

    def submit(self, command: Callable[[], None]) -> None:
        """Run this in the I/O thread, soon."""
        self._commands.append(command)
        self._wake_or_abandon()

    def publish(self, records: list[tuple[OutgoingRecord, tuple[Ticket, int]]]) -> None:
        """Take durable records into the window; the caller has made sure there is room."""
        self._incoming.extend(records)
        self._wake_or_abandon()

    def wake(self) -> None:
        """Make the loop look at what was submitted."""
        if not self._woken:
            with self._wake_lock:
                if not self._woken:
                    self._woken = True
                    os.write(self._wake_write, b"!")

    def _wake_or_abandon(self) -> None:
        if self._ended:
            self._abandon()
        else:
            self.wake()

    def stop(self, drain_seconds: float) -> None:
        """Send what is on its way, at most so long, and end the thread."""

        def close() -> None:
            self._stop_at = time.monotonic() + drain_seconds

        self.submit(close)

    def discard(self) -> None:
        """End a loop whose thread was never started."""
        self._end()

    def _run(self) -> None:
        try:
            self._reset_poller()
            while not self._finished():
                self._turn()
        except Exception as error:
            _log.exception("the bus link failed")
            self.traffic.fail(BusUnavailable(f"The link to the bus failed: {error!r}", "Open a new client."))
        finally:
            self._end()

    def _turn(self) -> None:
        events = dict(self._poller.poll(self._patience()))
        now = time.monotonic()
        if self._wake_read in events:
            os.read(self._wake_read, 4096)
        self._woken = False
        away = self._liveness.looked(now)
        self._attempted_at += away
        self._hello_at += away
        while self._commands:
            self._commands.popleft()()
        while self._incoming:
            self.traffic.window.add(*self._incoming.popleft())
        self.traffic.expire(now)
        connection = self._connection
        if connection is None:
            if now >= self._retry_at:
                self._connect(now)
            return
        if any(monitor in events for monitor in connection.monitors):
            for verdict in connection.verdicts():
                self._judged(verdict)
                if self._connection is None:
                    return
        self._receive(connection, events, now)
        if self._connection is connection:
            self._care(connection, now)

    def _connect(self, now: float) -> None:
        try:
            address = self._address()
            self._connection = Connection(self._context, address, self._keys, self._settings)
        except (AicoMemoryError, zmq.ZMQError) as error:
            known = error if isinstance(error, AicoMemoryError) else BusUnavailable(f"Cannot connect: {error}")
            self._lost(known, final=isinstance(known, VersionMismatch))
            return
        self._attempted_at = now
        self._reset_poller()

    def _judged(self, verdict: Verdict) -> None:
        if verdict.turn is Turn.ESTABLISHED:
            return
        assert verdict.error is not None
        refused = verdict.final
        self._refusals = self._refusals + 1 if refused else 0
        self._lost(verdict.error, final=refused and self._refusals >= _REFUSALS)

    def _lost(self, error: AicoMemoryError, final: bool = False) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._reset_poller()
        if self._welcome is not None:
            _log.info("bus connection lost", reason=error.detail)
        self._welcome = None
        self._hello_sent = False
        self._held = None
        self.traffic.disconnected()
        self._retry_at = time.monotonic() + self._pause
        self._pause = min(self._pause * 2, self._settings.retry_seconds_most)
        if final:
            self.traffic.fail(error)
        self._turned(None, error, final)

    def _receive(self, connection: Connection, events: Mapping[object, int], now: float) -> None:
        ways: tuple[tuple[Way, zmq.Socket[bytes]], ...] = (("dealer", connection.dealer), ("delivery", connection.delivery))
        for name, socket in ways:
            for _ in range(_BURST if events.get(socket, 0) & _POLLIN else 0):
                try:
                    data = socket.recv(zmq.NOBLOCK)
                except zmq.Again:
                    break
                self._liveness.heard(name, now)
                try:
                    if name == "dealer":
                        self._router_frame(data, now)
                    else:
                        self.traffic.delivery_frame(data)
                except (AicoMemoryError, DecodeError, ValueError, IndexError) as error:
                    _log.warning("a frame of the bus cannot be read", frame_bytes=len(data), reason=str(error))
                if self._connection is not connection:
                    return

    def _router_frame(self, data: bytes, now: float) -> None:
        if data[0] == Kind.WELCOME:
            self._welcomed(bus_pb2.Welcome.FromString(data[1:]), now)
        elif data[0] == Kind.REFUSED and self._welcome is None:
            refusal = bus_pb2.Refusal.FromString(data[1:])
            self._lost(from_code(refusal.code, refusal.detail, refusal.mend), final=True)
        elif data[0] != Kind.PONG:
            self.traffic.router_frame(data)

    def _welcomed(self, welcome: bus_pb2.Welcome, now: float) -> None:
        if welcome.protocol != PROTOCOL:
            self._lost(VersionMismatch(f"The bus speaks protocol {welcome.protocol}, this side {PROTOCOL}"), final=True)
            return
        self._hello_sent = False
        if self._welcome is not None:
            # An answer to a HELLO within a standing connection: only the publishes start again.
            self.traffic.welcomed()
            return
        self._welcome = welcome
        self._pause = self._settings.retry_seconds_first
        self._refusals = 0
        self._liveness.established(now)
        self.traffic.established(welcome.epoch)
        self._turned(welcome, None, False)

    def _care(self, connection: Connection, now: float) -> None:
        """Say HELLO, keep alive, send."""
        if not connection.complete or self._welcome is None:
            if now - self._attempted_at > 2 * self._settings.handshake_seconds:
                self._lost(BusUnavailable(f"The bus at {connection.address.router} does not answer"))
                return
            if connection.complete and not self._hello_sent:
                self._say_hello(now)
        else:
            if self._silent(now):
                self._lost(BusUnavailable(f"The bus at {connection.address.router} has fallen silent"))
                return
            if self.traffic.stuck(now):
                self._lost(BusUnavailable(f"A subscription at {connection.address.delivery} was never confirmed"))
                return
            if self.traffic.resync_due and not self._hello_sent:
                self._say_hello(now)
            if self._hello_sent and now - self._hello_at > self._settings.stall_seconds:
                self._lost(BusUnavailable(f"The bus at {connection.address.router} does not answer"))
                return
            self.traffic.tick(now)
        self._send(connection)

    def _say_hello(self, now: float) -> None:
        self._hello_sent = True
        self._hello_at = now
        hello = bus_pb2.Hello(protocol=PROTOCOL, contracts=CONTRACTS, software=f"aico-memory {__version__}")
        self.traffic.resync_due = True
        self.traffic.out.append(self.traffic.hello(hello))

    def _silent(self, now: float) -> bool:
        if self._liveness.ping_due(now):
            self.traffic.out.append(bytes([Kind.PING]))
        if self._liveness.probe_due(now):
            self.traffic.probe()
        return self._liveness.silent(now)

    def _send(self, connection: Connection) -> None:
        traffic = self.traffic
        while traffic.filters:
            subscribe, prefix = traffic.filters.popleft()
            connection.delivery.setsockopt(zmq.SUBSCRIBE if subscribe else zmq.UNSUBSCRIBE, prefix)
        blocked = False
        while not blocked:
            if self._held is None:
                if traffic.out:
                    self._held = traffic.out.popleft()
                elif self._welcome is not None:
                    self._held = traffic.next_frame()
                if self._held is None:
                    break
            try:
                connection.dealer.send(self._held, zmq.NOBLOCK)
                self._held = None
            except zmq.Again:
                blocked = True
        if blocked is not self._blocked:
            self._blocked = blocked
            self._poller.modify(connection.dealer, zmq.POLLIN | (zmq.POLLOUT if blocked else 0))

    def _patience(self) -> int:
        """Milliseconds the poll may wait."""
        if self._commands or self._incoming:
            return 0
        now = time.monotonic()
        until = now + _TICK
        deadline = self.traffic.next_deadline()
        if deadline is not None:
            until = min(until, deadline)
        if self._connection is None:
            until = min(until, self._retry_at)
        if self._stop_at is not None:
            until = min(until, self._stop_at, now + 0.02)
        return max(0, int((until - now) * 1000) + 1)

    def _finished(self) -> bool:
        if self._stop_at is None:
            return False
        if time.monotonic() >= self._stop_at:
            return True
        return not (self._commands or self._incoming) and self.traffic.drained and self._held is None

    def _abandon(self) -> None:
        """Nobody is left to send: end everything that is open, and what another thread hands in after the end."""
        with self._end_lock:
            while self._commands:
                self._commands.popleft()()
            while self._incoming:
                self.traffic.window.add(*self._incoming.popleft())
            self.traffic.fail(ClosedConnection("The client was closed"))

    def _reset_poller(self) -> None:
        self._poller = zmq.Poller()
        self._blocked = False
        self._poller.register(self._wake_read, zmq.POLLIN)
        if self._connection is not None:
            for socket in (self._connection.dealer, self._connection.delivery, *self._connection.monitors):
                self._poller.register(socket, zmq.POLLIN)

    def _end(self) -> None:
        self._ended = True
        self._abandon()
        if self._connection is not None:
            if self._welcome is not None:
                with contextlib.suppress(zmq.Again):
                    self._connection.dealer.send(bytes([Kind.GOODBYE]), zmq.NOBLOCK)
            self._connection.goodbye()
            self._connection = None
        self._context.term()
        with self._wake_lock:
            self._woken = True
            os.close(self._wake_write)
        os.close(self._wake_read)
        self._turned(None, ClosedConnection("The client was closed"), True)

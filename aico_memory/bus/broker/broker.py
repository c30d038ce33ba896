"""The broker: one thread, one poll loop over ROUTER, XPUB and ZAP."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections import Counter
from time import monotonic
from typing import Any

import zmq

from aico_memory.bus.access import load_access
from aico_memory.bus.broker.control import Control
from aico_memory.bus.broker.delivery import Bans, Delivery
from aico_memory.bus.broker.heads import HeadBeacon, Marks
from aico_memory.bus.broker.intake import Intake
from aico_memory.bus.broker.notices import BrokerNotices
from aico_memory.bus.broker.ranges import Ranges
from aico_memory.bus.broker.registry import ConsumerRegistry
from aico_memory.bus.broker.sessions import Sessions
from aico_memory.bus.broker.sockets import bind_to, open_socket
from aico_memory.bus.journal import Journal
from aico_memory.bus.journal.retention import Retention
from aico_memory.bus.read_only import ReadOnlySwitch
from aico_memory.bus.zap import AuthorizedKeys, ZapHandler
from aico_memory.clock import Clock
from aico_memory.contracts.wire import PROTOCOL
from aico_memory.errors import BusUnavailable
from aico_memory.log import get_logger
from aico_memory.paths import Home, config_file
from aico_memory.settings.bus import BusSettings
from aico_memory.vault.curve_keys import init_curve
from aico_memory.vault.master import Vault

_POLL_MS = 50
_TICK_SECONDS = 0.005
_log = get_logger(__name__)


class Broker:
    """One broker of one home: `open`, `run` until `stop`, `close`."""

    def __init__(self, home: Home, settings: BusSettings, vault: Vault, clock: Clock) -> None:
        self._home = home
        self._settings = settings
        self._clock = clock
        self._stopping = threading.Event()
        self.ready = threading.Event()
        self._started = monotonic()
        self._server = init_curve(home)
        self._rules = load_access(config_file(home, "access.yaml"))
        self._journal = Journal(home.journal, settings, vault, clock)
        self._keys = AuthorizedKeys(home, self._rules)
        self._bans = Bans(settings.ban_seconds)
        self._notices = BrokerNotices(settings, clock)
        self._registry = ConsumerRegistry(self._journal)
        self._retention = Retention(self._journal, settings, clock)
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context(io_threads=1)
        self._context.set(zmq.MAX_SOCKETS, 4096)
        self._zap = ZapHandler(self._context, self._keys, self._bans.active, self._refresh_keys_now)
        self._delivery = Delivery(
            self._context, self._server, settings,
            identify=self._keys.identity,
            denied=lambda identity, error: self._notices.denied_identity(identity.name, error),
            attacked=self._attacked,
        )  # fmt: skip
        self._router = open_socket(
            self._context, zmq.ROUTER, self._server, settings,
            high_water=settings.router_high_water, max_bytes=settings.max_frame_bytes,
        )  # fmt: skip
        # A frame to a connection that is gone, or too slow, fails at once instead of vanishing or blocking.
        self._router.setsockopt(zmq.ROUTER_MANDATORY, 1)
        marks = Marks(self._journal, self._delivery)
        self._intake = Intake(self._journal, self._delivery, marks, settings, clock, self._send, self._notices)
        self._notices.intake = self._intake
        self._ranges = Ranges(self._journal, settings, self._send)
        self._switch = ReadOnlySwitch(home)
        self._look_at_switch()
        control = Control(
            self._journal, self._registry, clock, self._describe_connections, self.statistics, self._switch, self._switched
        )
        self._sessions = Sessions(
            self._router, self._keys, self._bans, settings, clock, self._journal,
            self._intake, self._ranges, control, marks, self._notices, self._send,
        )  # fmt: skip
        self._beacon = HeadBeacon(self._journal, settings, self._delivery)
        self._rebuild_reason = ""
        self._next_tick = 0.0
        self.unsendable: Counter[str] = Counter()
        self.address: dict[str, Any] = {}

    def bind(self) -> None:
        """Bind both sockets, on the ports of the last run where they are free, and write the address file."""
        before = self._ports_before()
        router = self._bind_router(self._settings.router_port or before[0], fixed=bool(self._settings.router_port))
        delivery = self._bind_delivery(self._settings.delivery_port or before[1], fixed=bool(self._settings.delivery_port))
        self.address = {
            "router": f"tcp://{self._settings.host}:{router}",
            "delivery": f"tcp://{self._settings.host}:{delivery}",
            "server_public": self._server.public.decode(),
            "epoch": self._journal.epoch,
            "pid": os.getpid(),
            "protocol": PROTOCOL,
        }
        self._sessions.delivery_endpoint = self.address["delivery"]
        self._home.run.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary = self._home.bus_address.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps(self.address) + "\n")
        temporary.replace(self._home.bus_address)
        _log.info("broker bound", **self.address, head=self._journal.head)

    def run(self) -> None:
        """Serve until `stop`; then drain what has arrived, and return."""
        self.ready.set()
        while not self._stopping.is_set():
            busy = self._ranges.waiting() or self._delivery.socket is None
            self._turn(1 if busy and self._delivery.socket is None else 0 if busy else _POLL_MS)
        deadline = monotonic() + self._settings.drain_seconds
        while self._turn(0) and monotonic() < deadline:
            pass
        self._registry.write()

    def stop(self) -> None:
        """Let `run` return; callable from any thread and from a signal handler."""
        self._stopping.set()

    @property
    def stopping(self) -> bool:
        """Whether `stop` was called."""
        return self._stopping.is_set()

    def close(self) -> None:
        """Close sockets and journal; frames on their way out get a moment."""
        self._router.close(linger=500)
        self._delivery.close()
        self._zap.close()
        self._context.term()
        self._journal.close()

    def statistics(self) -> dict[str, Any]:
        """Figures since the start."""
        counts = self._intake.counts
        return {
            "uptime_seconds": round(monotonic() - self._started, 3),
            "durable": counts.durable, "ephemeral": counts.ephemeral, "duplicates": counts.duplicates,
            "transactions": counts.transactions, "resyncs": counts.resyncs,
            "refused": dict(self._intake.refused), "notices": dict(self._notices.counts),
            "handshakes": {"admitted": self._zap.admitted, "refused": self._zap.refused},
            "unsendable": dict(self.unsendable),
            "delivery": {"sent": self._delivery.sent, "lost": self._delivery.lost, "rebuilds": self._delivery.rebuilds},
            "ranges": {
                "answered": self._ranges.answered, "erased": self._ranges.records_erased,
                "unreadable": self._ranges.records_unreadable,
            },
            "journal": {
                "epoch": self._journal.epoch, "head": self._journal.head, "bytes": self._journal.size_bytes(),
                "segments": len(self._journal.segments), "removed": self._retention.removed,
                "removed_unread": self._retention.removed_unread,
            },
            "alarms": [*self._retention.alarms(), *self._key_alarms()],
        }  # fmt: skip

    def _key_alarms(self) -> list[dict[str, object]]:
        unreadable = self._keys.unreadable
        return [{"alarm": "authorised_keys_unreadable", "detail": unreadable}] if unreadable else []

    def _turn(self, timeout_ms: int) -> bool:
        """One turn of the loop; whether anything arrived."""
        waiting = [(self._router, zmq.POLLIN), (self._zap.socket, zmq.POLLIN)]
        if self._delivery.socket is not None:
            waiting.append((self._delivery.socket, zmq.POLLIN))
        ready = {socket for socket, _ in zmq.zmq_poll(waiting, timeout_ms)}
        if self._zap.socket in ready:
            self._zap.answer_waiting()
        if self._delivery.socket in ready:
            self._delivery.answer_waiting()
        self._look_at_switch()
        taken = self._sessions.drain() if self._router in ready else 0
        if self._intake.waiting():
            self._intake.commit()
        if self._ranges.waiting():
            self._ranges.answer_one()
        self._tick()
        return bool(taken)

    def _tick(self) -> None:
        if self._rebuild_reason:
            reason, self._rebuild_reason = self._rebuild_reason, ""
            self._delivery.rebuild(reason)
        self._delivery.ensure_bound()
        now = monotonic()
        if now < self._next_tick:
            return
        # What is due by time can wait for the next few milliseconds; a turn under load is much shorter than that.
        self._next_tick = now + _TICK_SECONDS
        changed = self._keys.refresh()
        if changed is not None:
            self._keys_changed(changed)
        self._beacon.send_if_due()
        self._registry.write_if_due()
        self._sessions.probe_if_due()
        if not self._ranges.waiting() and self._retention.run_if_due(self._registry.entries()):
            self._journal.release_closed()

    def _refresh_keys_now(self) -> None:
        changed = self._keys.refresh(force=True)
        if changed is not None:
            self._keys_changed(changed)

    def _look_at_switch(self) -> None:
        """The command line may have thrown it by itself."""
        on = self._switch.on
        if on is (self._intake.stopped is None):
            self._intake.stopped = self._switch.state().error() if on else None

    def _switched(self, actor: str, on: bool) -> None:
        self._look_at_switch()
        _log.warning("read only", on=on, identity=actor)
        self._notices.audit("read_only", actor, "", {"on": on})

    def _keys_changed(self, changed: frozenset[str]) -> None:
        self._notices.audit("keys_changed", "broker", "", {"lost_or_changed": sorted(changed)})
        if changed:
            self._sessions.drop(changed)
            # libzmq keeps live connections of a revoked key; a new socket lets in only who passes ZAP now.
            self._rebuild_reason = "keys changed"

    def _attacked(self, user_id: str, what: str) -> None:
        _log.error("delivery attacked", user_id=user_id, what=what)
        if user_id:
            self._bans.ban(user_id)
            self._sessions.drop(frozenset((user_id,)))
        self._notices.audit("identity_banned", "broker", user_id, {"reason": what, "seconds": self._settings.ban_seconds})

    def _send(self, routing_id: bytes, frame: bytes) -> bool:
        try:
            self._router.send(routing_id, zmq.SNDMORE | zmq.NOBLOCK)
            self._router.send(frame, zmq.NOBLOCK)
        except zmq.Again:
            # Too slow a reader: it finds out by its own timeout and asks again.
            self.unsendable["slow"] += 1
            return False
        except zmq.ZMQError as error:
            if error.errno != zmq.EHOSTUNREACH:
                raise
            self.unsendable["gone"] += 1
            self._sessions.forget(routing_id)
            return False
        return True

    def _describe_connections(self) -> list[dict[str, Any]]:
        return self._sessions.describe(self._delivery.subscriptions)

    def _ports_before(self) -> tuple[int, int]:
        try:
            known = json.loads(self._home.bus_address.read_text())
            return int(known["router"].rsplit(":", 1)[1]), int(known["delivery"].rsplit(":", 1)[1])
        except (OSError, ValueError, KeyError, IndexError, TypeError):
            return 0, 0

    def _bind_router(self, port: int, fixed: bool) -> int:
        try:
            return bind_to(self._router, self._settings.host, port)
        except zmq.ZMQError as error:
            if fixed or not port:
                raise BusUnavailable(f"The broker cannot listen on port {port}: {error}", "Free the port, or set 0.") from error
            return bind_to(self._router, self._settings.host, 0)

    def _bind_delivery(self, port: int, fixed: bool) -> int:
        try:
            return self._delivery.bind(port)
        except zmq.ZMQError as error:
            if fixed or not port:
                raise BusUnavailable(f"The broker cannot listen on port {port}: {error}", "Free the port, or set 0.") from error
            return self._delivery.bind(0)


def stop_on_signals(broker: Broker) -> None:
    """SIGTERM and SIGINT drain; a second one ends the process at once."""

    def handle(number: int, _: object) -> None:
        if broker.stopping:
            os._exit(128 + number)
        broker.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handle)

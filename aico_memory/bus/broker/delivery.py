"""Live delivery: one XPUB on which every subscription is granted by the authenticated identity.

`XPUB_MANUAL` grants "the last pipe that was read"; an upstream message that is
no subscription shifts that, so that later grants land at another client. On
such a message the socket is therefore thrown away and made anew on the same
port, and who sent it stays out for a while.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from time import monotonic

import zmq

from aico_memory.bus.access import Identity, refuse_subscribe
from aico_memory.bus.broker.sockets import Context, bind_to, metadata, open_socket
from aico_memory.contracts.wire import READY_PREFIX
from aico_memory.errors import AicoMemoryError
from aico_memory.log import get_logger
from aico_memory.settings.bus import BusSettings
from aico_memory.vault.curve_keys import IdentityKeys

# Upstream come subscriptions only: kind byte and a topic.
_UPSTREAM_BYTES = 512
_SUBSCRIPTIONS_PER_IDENTITY = 20_000
_log = get_logger(__name__)


class Delivery:
    """The XPUB with its guard; `socket` is None while the port is being taken again."""

    def __init__(
        self,
        context: Context,
        keys: IdentityKeys,
        settings: BusSettings,
        identify: Callable[[str], Identity | None],
        denied: Callable[[Identity, AicoMemoryError], None],
        attacked: Callable[[str, str], None],
    ) -> None:
        self._context = context
        self._keys = keys
        self._settings = settings
        self._identify = identify
        self._denied = denied
        self._attacked = attacked
        self._port = 0
        self._asked: Counter[str] = Counter()
        self.socket: zmq.Socket[bytes] | None = None
        self.subscriptions: Counter[str] = Counter()
        self.rebuilds = 0
        self.sent = 0
        self.lost = 0

    def bind(self, port: int) -> int:
        """Open and bind; the port stays the same from here on."""
        socket = open_socket(
            self._context, zmq.XPUB, self._keys, self._settings,
            high_water=self._settings.delivery_high_water, max_bytes=_UPSTREAM_BYTES,
        )  # fmt: skip
        socket.setsockopt(zmq.XPUB_MANUAL, 1)
        try:
            self._port = bind_to(socket, self._settings.host, port)
        except zmq.ZMQError:
            socket.close()
            raise
        self.socket = socket
        return self._port

    def rebuild(self, reason: str) -> None:
        """Throw the socket away: everybody connects again, passes ZAP again and subscribes again."""
        _log.warning("delivery rebuilt", reason=reason)
        self.rebuilds += 1
        self.close()
        self.ensure_bound()

    def ensure_bound(self) -> None:
        """Take the port again after a rebuild; the old listener may hold it for a moment."""
        if self.socket is None:
            try:
                self.bind(self._port)
            except zmq.ZMQError as error:
                if error.errno != zmq.EADDRINUSE:
                    raise

    def send(self, batch: bytes) -> None:
        """Hand a frame to all who subscribed to its beginning; what cannot be sent is healed by replay."""
        if self.socket is None:
            self.lost += 1
            return
        try:
            self.socket.send(batch, zmq.NOBLOCK)
            self.sent += 1
        except zmq.Again:
            self.lost += 1

    def answer_waiting(self) -> None:
        """Grant or ignore every subscription that waits."""
        while self.socket is not None:
            try:
                frame = self.socket.recv(zmq.NOBLOCK, copy=False)
            except zmq.Again:
                return
            data = frame.bytes
            user_id = metadata(frame, "User-Id")
            if frame.more or not data or data[0] > 1:
                self._attacked(user_id, "sent something other than a subscription to the delivery socket")
                self.rebuild("junk upstream")
                return
            if user_id:
                self._take(self.socket, user_id, data[0] == 1, data[1:])

    def close(self) -> None:
        if self.socket is not None:
            self.socket.close(linger=0)
            self.socket = None
        self._asked.clear()
        self.subscriptions.clear()

    def _take(self, socket: zmq.Socket[bytes], user_id: str, subscribe: bool, topic: bytes) -> None:
        identity = self._identify(user_id)
        if identity is None:
            return
        if not subscribe:
            self._asked[user_id] -= 1
            self.subscriptions[user_id] -= 1
            socket.setsockopt(zmq.UNSUBSCRIBE, topic)
            return
        self._asked[user_id] += 1
        if self._asked[user_id] > _SUBSCRIPTIONS_PER_IDENTITY:
            self._attacked(user_id, f"holds more than {_SUBSCRIPTIONS_PER_IDENTITY} subscriptions")
            self.rebuild("too many subscriptions")
            return
        refusal = refuse_subscribe(identity, topic.decode("utf-8", "replace"))
        if refusal is not None:
            self._denied(identity, refusal)
            return
        self.subscriptions[user_id] += 1
        socket.setsockopt(zmq.SUBSCRIBE, topic)
        if topic.startswith(READY_PREFIX):
            # All earlier subscriptions of this connection stand: upstream messages keep their order.
            socket.send(topic, zmq.NOBLOCK)


class Bans:
    """Identities that stay out for a while."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._until: dict[str, float] = {}

    def ban(self, user_id: str) -> None:
        """Keep this User-Id out."""
        self._until[user_id] = monotonic() + self._seconds

    def active(self, user_id: str) -> bool:
        """Whether this User-Id is kept out now."""
        until = self._until.get(user_id)
        if until is None:
            return False
        if until > monotonic():
            return True
        del self._until[user_id]
        return False

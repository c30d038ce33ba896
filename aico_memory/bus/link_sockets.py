"""One connection of a link: DEALER and SUB with CURVE, and a monitor on each.

A connection is used once. When either socket is refused or lost both are closed
and new ones made: a refused client never tries again by itself, and a socket that
reconnects behind our back re-subscribes when it likes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import zmq
from zmq.utils.monitor import recv_monitor_message

from aico_memory.bus.address import BusAddress
from aico_memory.bus.link_handshake import WATCHED, Verdict, judge_event
from aico_memory.settings.link import LinkSettings
from aico_memory.vault.curve_keys import IdentityKeys

# No reconnects of libzmq's own.
_NEVER = -1
# Milliseconds a closing socket may still send.
_LINGER = 200


class Connection:
    """Two monitored sockets and the order in which they must be closed."""

    def __init__(
        self, context: zmq.Context[zmq.Socket[bytes]], address: BusAddress, keys: IdentityKeys, settings: LinkSettings
    ):
        self.address = address
        self._identity = keys.name
        self._watched: list[tuple[zmq.Socket[bytes], zmq.Socket[bytes], str]] = []
        self.established: set[str] = set()
        self.dealer = self._open(context, zmq.DEALER, address.router, address, keys, settings)
        self.delivery = self._open(context, zmq.SUB, address.delivery, address, keys, settings)

    @property
    def complete(self) -> bool:
        """Both handshakes have succeeded."""
        return len(self.established) == 2

    @property
    def monitors(self) -> list[zmq.Socket[bytes]]:
        return [monitor for _, monitor, _ in self._watched]

    def verdicts(self) -> Iterator[Verdict]:
        """What the monitors have to say, read without waiting."""
        for _, monitor, endpoint in self._watched:
            while monitor.poll(0):
                message = recv_monitor_message(monitor)
                verdict = judge_event(message["event"], message["value"], endpoint, self._identity)
                if verdict is not None:
                    if verdict.error is None:
                        self.established.add(endpoint)
                    yield verdict

    def close(self, linger: int = 0) -> None:
        """Monitors first: closing a socket that is still monitored hangs its I/O thread."""
        for socket, monitor, _ in self._watched:
            with contextlib.suppress(zmq.ZMQError):
                socket.disable_monitor()
            monitor.close(0)
            socket.close(linger)
        self._watched.clear()

    def _open(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        kind: int,
        endpoint: str,
        address: BusAddress,
        keys: IdentityKeys,
        settings: LinkSettings,
    ) -> zmq.Socket[bytes]:
        socket = context.socket(kind)
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.RECONNECT_IVL, _NEVER)
        socket.setsockopt(zmq.HANDSHAKE_IVL, int(settings.handshake_seconds * 1000))
        socket.setsockopt(zmq.CURVE_SERVERKEY, address.server_public.encode())
        socket.setsockopt(zmq.CURVE_PUBLICKEY, keys.public)
        socket.setsockopt(zmq.CURVE_SECRETKEY, keys.secret)
        monitor = socket.get_monitor_socket(WATCHED)
        self._watched.append((socket, monitor, endpoint))
        socket.connect(endpoint)
        return socket

    def goodbye(self) -> None:
        """Close, letting what was sent leave for a moment."""
        self.close(_LINGER)

"""The broker's sockets: the same guards on both."""

from __future__ import annotations

import zmq

from aico_memory.bus.zap import DOMAIN
from aico_memory.settings.bus import BusSettings
from aico_memory.vault.curve_keys import IdentityKeys

Context = zmq.Context[zmq.Socket[bytes]]


def open_socket(
    context: Context, kind: int, keys: IdentityKeys, settings: BusSettings, *, high_water: int, max_bytes: int
) -> zmq.Socket[bytes]:
    """A CURVE server socket that refuses whoever ZAP has not let in."""
    socket = context.socket(kind)
    socket.curve_server = True
    socket.curve_publickey = keys.public
    socket.curve_secretkey = keys.secret
    socket.zap_domain = DOMAIN
    # Without this libzmq skips ZAP where no handler is bound.
    socket.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)
    socket.setsockopt(zmq.HANDSHAKE_IVL, settings.handshake_ms)
    socket.setsockopt(zmq.MAXMSGSIZE, max_bytes)
    socket.setsockopt(zmq.BACKLOG, settings.backlog)
    socket.setsockopt(zmq.TCP_KEEPALIVE, 1)
    socket.setsockopt(zmq.TCP_KEEPALIVE_IDLE, 30)
    socket.setsockopt(zmq.TCP_KEEPALIVE_INTVL, 10)
    socket.setsockopt(zmq.TCP_KEEPALIVE_CNT, 3)
    socket.setsockopt(zmq.LINGER, 0)
    socket.set_hwm(high_water)
    return socket


def bind_to(socket: zmq.Socket[bytes], host: str, port: int) -> int:
    """Bind to a port (0: a free one); returns it. ZMQError where it is taken."""
    socket.bind(f"tcp://{host}:{port or '*'}")
    endpoint = socket.getsockopt(zmq.LAST_ENDPOINT)
    assert isinstance(endpoint, bytes)
    return int(endpoint.rstrip(b"\0").rsplit(b":", 1)[1])


def metadata(frame: zmq.Frame, name: str) -> str:
    """A property of the connection a frame came over; "" where there is none."""
    try:
        return str(frame.get(name))
    except zmq.ZMQError:
        return ""

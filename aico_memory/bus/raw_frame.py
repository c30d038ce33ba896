"""One frame as it stands, from an authenticated connection: for streams that hold malformed input, and for tests."""

from __future__ import annotations

import os
from time import monotonic

import zmq

from aico_memory.bus.address import BusAddress
from aico_memory.contracts.v1 import bus_pb2
from aico_memory.contracts.wire import CONTRACTS, PROTOCOL, Kind
from aico_memory.errors import BusUnavailable
from aico_memory.vault.curve_keys import IdentityKeys


def send_raw_frame(address: BusAddress, keys: IdentityKeys, frame: bytes, seconds: float = 5.0) -> str:
    """Say Hello, send the frame, and return the code of the refusal that answers it; "" where it is acknowledged.

    BusUnavailable where neither comes in time.
    """
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    socket = context.socket(zmq.DEALER)
    try:
        socket.linger = 0
        socket.curve_serverkey = address.server_public.encode()
        socket.curve_publickey, socket.curve_secretkey = keys.public, keys.secret
        socket.connect(address.router)
        hello = bus_pb2.Hello(
            protocol=PROTOCOL, contracts=CONTRACTS, session=os.urandom(16), next_producer_sequence=1, software="raw"
        )
        socket.send(bytes((Kind.HELLO,)) + hello.SerializeToString())
        deadline = monotonic() + seconds
        while (answer := _receive(socket, deadline))[0] != Kind.WELCOME:
            pass
        socket.send(frame)
        while True:
            answer = _receive(socket, deadline)
            if answer[0] == Kind.REFUSED:
                return bus_pb2.Refusal.FromString(answer[1:]).code
            if answer[0] == Kind.ACK:
                return ""
    finally:
        socket.close(linger=0)
        context.term()


def _receive(socket: zmq.Socket[bytes], deadline: float) -> bytes:
    if not socket.poll(max(int((deadline - monotonic()) * 1000), 0)):
        raise BusUnavailable("The bus did not answer the frame in time")
    data = socket.recv()
    return data or b"\0"

"""What the socket monitor's events mean: the reason of a failed connection, not a guess from silence."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from enum import Enum

import zmq

from aico_memory.errors import AicoMemoryError, BusUnavailable, NotAuthorised

# Status of a ZAP refusal, as the broker's authenticator gives it.
ZAP_REFUSED = 400
WATCHED = (
    zmq.Event.CLOSED
    | zmq.Event.DISCONNECTED
    | zmq.Event.HANDSHAKE_SUCCEEDED
    | zmq.Event.HANDSHAKE_FAILED_AUTH
    | zmq.Event.HANDSHAKE_FAILED_PROTOCOL
    | zmq.Event.HANDSHAKE_FAILED_NO_DETAIL
)


class Turn(Enum):
    """What an event of the monitor says about its socket."""

    ESTABLISHED = "established"
    FAILED = "failed"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One turn of a connection; `error` where it failed."""

    turn: Turn
    error: AicoMemoryError | None = None
    # True where another try with the same key and address cannot do better.
    final: bool = False


def judge_event(event: int, value: int, endpoint: str, identity: str) -> Verdict | None:
    """The verdict on one monitor event; None where it says nothing new."""
    if event == zmq.Event.HANDSHAKE_SUCCEEDED:
        return Verdict(Turn.ESTABLISHED)
    if event == zmq.Event.HANDSHAKE_FAILED_AUTH:
        return Verdict(Turn.FAILED, _refused(value, endpoint, identity), final=True)
    if event == zmq.Event.HANDSHAKE_FAILED_PROTOCOL:
        return Verdict(
            Turn.FAILED,
            NotAuthorised(
                f"What answers at {endpoint} does not speak CURVE as this side does",
                "Connect with CURVE keys; if they are in use, the port belongs to another program: `aico-memory status`.",
            ),
            final=True,
        )
    if event == zmq.Event.HANDSHAKE_FAILED_NO_DETAIL:
        return Verdict(Turn.FAILED, _no_detail(value, endpoint), final=value == errno.EPIPE)
    if event == zmq.Event.CLOSED:
        return Verdict(Turn.FAILED, BusUnavailable(f"Nothing listens at {endpoint}"))
    if event == zmq.Event.DISCONNECTED:
        return Verdict(Turn.LOST, BusUnavailable(f"The connection to {endpoint} was lost"))
    return None


def _refused(status: int, endpoint: str, identity: str) -> AicoMemoryError:
    if status == ZAP_REFUSED:
        return NotAuthorised(f"The identity {identity!r} is not authorised by the bus at {endpoint}")
    return BusUnavailable(f"The bus at {endpoint} could not check the key (status {status})", "Look at the broker's log.")


def _no_detail(number: int, endpoint: str) -> AicoMemoryError:
    if number in (errno.EAGAIN, errno.ETIMEDOUT):
        return BusUnavailable(f"What listens at {endpoint} does not answer as a bus does")
    # The other side closed during the handshake: it could not open what was sealed for another server key,
    # or it wanted another mechanism and was quicker to leave than this side to notice.
    return NotAuthorised(
        f"The bus at {endpoint} broke the handshake off ({os.strerror(number)}): "
        "the server key does not fit, or it does not speak CURVE",
        "Read the server's public key anew from run/bus.json of the home the bus was started with.",
    )

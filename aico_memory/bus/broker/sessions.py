"""Connections of the ROUTER: who they are, what they send, when they are gone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from time import monotonic
from typing import Any

import zmq
from google.protobuf.message import DecodeError

from aico_memory.bus.access import Identity, refuse_read, refuse_subscribe
from aico_memory.bus.broker.connection import Connection, TokenBucket
from aico_memory.bus.broker.control import Control
from aico_memory.bus.broker.delivery import Bans
from aico_memory.bus.broker.heads import Marks
from aico_memory.bus.broker.intake import Intake, refusal_frame
from aico_memory.bus.broker.notices import BrokerNotices
from aico_memory.bus.broker.ranges import Ranges
from aico_memory.bus.broker.sockets import metadata
from aico_memory.bus.journal import Journal
from aico_memory.bus.zap import AuthorizedKeys
from aico_memory.clock import Clock
from aico_memory.contracts.v1 import bus_pb2
from aico_memory.contracts.wire import CONTRACTS, PROTOCOL, Kind
from aico_memory.errors import AccessDenied, AicoMemoryError, InvalidMessage, NotAuthorised, RateLimited, VersionMismatch
from aico_memory.log import get_logger
from aico_memory.settings.bus import BusSettings

_PROBE_SECONDS = 5.0
_SILENT_SECONDS = 10.0
_PONG = bytes((Kind.PONG,))
_RESYNC_HELLO = bytes((Kind.RESYNC,)) + bus_pb2.Resync(hello=True).SerializeToString()
_SUBSCRIBE_TOPICS = 256
# So far below the end of 64 bits that no connection counts to it.
_LAST_SEQUENCE = (1 << 62) - 1
_log = get_logger(__name__)


class Sessions:
    """All connections by routing id; reads what they send and hands it on."""

    def __init__(
        self,
        router: zmq.Socket[bytes],
        keys: AuthorizedKeys,
        bans: Bans,
        settings: BusSettings,
        clock: Clock,
        journal: Journal,
        intake: Intake,
        ranges: Ranges,
        control: Control,
        marks: Marks,
        notices: BrokerNotices,
        send: Callable[[bytes, bytes], bool],
    ) -> None:
        self._router = router
        self._keys = keys
        self._bans = bans
        self._settings = settings
        self._clock = clock
        self._journal = journal
        self._intake = intake
        self._ranges = ranges
        self._control = control
        self._marks = marks
        self._notices = notices
        self._send = send
        self._by_id: dict[bytes, Connection] = {}
        self._buckets: dict[str, TokenBucket] = {}
        self._probed = monotonic()
        self.delivery_endpoint = ""
        self._kinds: dict[int, Callable[[Connection, bytes], None]] = {
            Kind.SUBSCRIBE: self._subscribe,
            Kind.RANGE_REQUEST: self._range,
            Kind.CONTROL: self._ask,
            Kind.PING: lambda connection, _: self._pong(connection),
            Kind.GOODBYE: lambda connection, _: self.forget(connection.routing_id),
        }

    def drain(self) -> int:
        """Take frames until none waits or the drain is full; returns how many."""
        receive = self._router.recv
        intake, by_id = self._intake, self._by_id
        limit, byte_limit = self._settings.drain_frames, self._settings.drain_bytes
        publish = int(Kind.PUBLISH)
        checked: dict[bytes, Connection] = {}
        taken = 0
        while taken < limit and intake.pending_bytes < byte_limit:
            try:
                routing_id = receive(zmq.NOBLOCK)
            except zmq.Again:
                break
            taken += 1
            part = receive(zmq.NOBLOCK, copy=False)
            if part.more:
                self._refuse_multipart(routing_id, part)
                continue
            frame = part.bytes
            connection = checked.get(routing_id)
            if connection is None or by_id.get(routing_id) is not connection:
                # Read once a drain: routing ids come back after a connection is gone, User-Ids cannot be forged.
                identity = self._authenticate(routing_id, part)
                if identity is None:
                    continue
                connection = self._known(routing_id, identity)
                if connection is None:
                    self._greet(routing_id, identity, frame)
                    continue
                connection.seen = monotonic()
                checked[routing_id] = connection
            if frame and frame[0] == publish:
                try:
                    intake.take(connection, frame)
                except InvalidMessage as error:
                    self._refuse_frame(routing_id, connection.identity, frame, error)
                except zmq.ZMQError:
                    raise
                except Exception:
                    self._start_over(connection)
            else:
                self._handle(connection, frame)
        return taken

    def _start_over(self, connection: Connection) -> None:
        """A publish that could not be handled must not end the broker; its connection begins anew from Hello."""
        _log.exception("publish not handled", identity=connection.identity.name)
        self._notices.counts["internal_error"] += 1
        self.forget(connection.routing_id, standing=True)
        self._send(connection.routing_id, _RESYNC_HELLO)

    def drop(self, user_ids: frozenset[str]) -> None:
        """Forget the connections of these User-Ids and tell them so."""
        for connection in [one for one in self._by_id.values() if one.identity.user_id in user_ids]:
            refusal = NotAuthorised(f"The key of {connection.identity.name!r} was revoked, changed or banned")
            self._send(connection.routing_id, refusal_frame(refusal))
            self.forget(connection.routing_id)

    def forget(self, routing_id: bytes, *, standing: bool = False) -> None:
        """This connection is gone; `standing`: it only begins anew, and what it subscribed to stands."""
        connection = self._by_id.pop(routing_id, None)
        if connection is not None:
            self._intake.forget(connection)
            self._ranges.forget(connection)
        if not standing:
            self._marks.leave(routing_id)

    def probe_if_due(self) -> None:
        """Find connections that ended without a word: nothing can be sent to them."""
        now = monotonic()
        if now - self._probed < _PROBE_SECONDS:
            return
        self._probed = now
        for connection in list(self._by_id.values()):
            if now - connection.seen > _SILENT_SECONDS:
                self._send(connection.routing_id, _PONG)
        # Those that were told to begin anew and did not.
        for routing_id in self._marks.connections() - self._by_id.keys():
            self._send(routing_id, _PONG)

    def describe(self, subscriptions: Counter[str]) -> list[dict[str, Any]]:
        """All connections, for the operator."""
        now = monotonic()
        return [
            {
                "identity": one.identity.name, "role": one.identity.role_name, "session": one.session.hex(),
                "published": one.published, "refused": one.refused, "seconds": round(now - one.since, 1),
                "silent_seconds": round(now - one.seen, 1), "subscriptions": subscriptions[one.identity.user_id],
            }
            for one in self._by_id.values()
        ]  # fmt: skip

    def _authenticate(self, routing_id: bytes, part: zmq.Frame) -> Identity | None:
        user_id = metadata(part, "User-Id")
        identity = self._keys.by_user_id.get(user_id)
        if identity is None or self._bans.active(user_id):
            self.forget(routing_id)
            self._notices.counts["not_authorised"] += 1
            self._send(routing_id, refusal_frame(NotAuthorised("The bus does not let this key in any more")))
            return None
        if routing_id[:1] != b"\0" or metadata(part, "Identity"):
            # An id that a client chose could be that of another, earlier connection.
            self._notices.counts["own_routing_id"] += 1
            error = InvalidMessage(
                "The bus makes routing ids itself", "Do not set a routing id (ZMQ_ROUTING_ID) on the socket."
            )
            self._send(routing_id, refusal_frame(error))
            return None
        return identity

    def _known(self, routing_id: bytes, identity: Identity) -> Connection | None:
        connection = self._by_id.get(routing_id)
        if connection is None:
            return None
        if connection.identity is not identity:
            if connection.identity.user_id != identity.user_id:
                self.forget(routing_id)
                return None
            if connection.identity != identity:
                connection.grants.clear()
            connection.identity = identity
        return connection

    def _greet(self, routing_id: bytes, identity: Identity, frame: bytes) -> None:
        """The first frame of a connection must be Hello."""
        if not frame or frame[0] != Kind.HELLO:
            if frame[:1] != bytes((Kind.GOODBYE,)):
                self._send(routing_id, _RESYNC_HELLO)
            return
        try:
            hello = bus_pb2.Hello.FromString(frame[1:])
            if len(hello.session) != 16:
                raise InvalidMessage("A Hello needs a session of 16 bytes")
            if hello.next_producer_sequence > _LAST_SEQUENCE:
                raise InvalidMessage(f"A producer counts from 1 to {_LAST_SEQUENCE}")
        except DecodeError:
            self._refuse_frame(routing_id, identity, frame, InvalidMessage("The Hello cannot be parsed"))
            return
        except InvalidMessage as error:
            self._refuse_frame(routing_id, identity, frame, error)
            return
        refusal = _version_refusal(hello) or self._too_many(identity, routing_id)
        if refusal is not None:
            self._send(routing_id, refusal_frame(refusal))
            return
        for one in list(self._by_id.values()):
            # The same client over a new connection: the old one is gone. Or it starts over on this one.
            if one.routing_id == routing_id or (one.session == hello.session and one.identity == identity):
                self.forget(one.routing_id, standing=one.routing_id == routing_id)
        rate = identity.role.publish_per_second or self._settings.publish_per_second
        bucket = self._buckets.setdefault(identity.user_id, TokenBucket(rate, min(self._settings.publish_burst, rate * 2)))
        self._by_id[routing_id] = Connection(routing_id, identity, hello.session, max(1, hello.next_producer_sequence), bucket)
        self._welcome(self._by_id[routing_id])

    def _welcome(self, connection: Connection) -> None:
        welcome = bus_pb2.Welcome(
            protocol=PROTOCOL, contracts=CONTRACTS, epoch=self._journal.epoch, identity=connection.identity.name,
            role=connection.identity.role_name, delivery_endpoint=self.delivery_endpoint,
            max_bytes=self._settings.max_bytes, window=self._settings.window, now_us=self._clock.now_us(),
        )  # fmt: skip
        self._send(connection.routing_id, bytes((Kind.WELCOME,)) + welcome.SerializeToString())

    def _too_many(self, identity: Identity, routing_id: bytes) -> AicoMemoryError | None:
        allowed = identity.role.connections or self._settings.connections_per_identity
        mine = [
            one for one in self._by_id.values() if one.identity.user_id == identity.user_id and one.routing_id != routing_id
        ]
        if len(mine) < allowed:
            return None
        # Some may be gone without having said so.
        alive = sum(self._send(one.routing_id, _PONG) for one in mine)
        if alive < allowed:
            return None
        return RateLimited(
            f"The identity {identity.name!r} has {allowed} connections already",
            "Close one, or raise bus.connections_per_identity.",
        )

    def _handle(self, connection: Connection, frame: bytes) -> None:
        """One frame of a connection that is known; whatever is wrong with it is answered, never raised."""
        kind = frame[0] if frame else 0
        try:
            handler = self._kinds.get(kind)
            if handler is None:
                if kind == Kind.HELLO:
                    self._hello_again(connection, frame)
                    return
                raise InvalidMessage(f"The bus knows no frame of kind {kind}")
            handler(connection, frame)
        except DecodeError:
            unparsed = InvalidMessage(f"A frame of kind {kind} cannot be parsed")
            self._refuse_frame(connection.routing_id, connection.identity, frame, unparsed)
        except InvalidMessage as error:
            self._refuse_frame(connection.routing_id, connection.identity, frame, error)
        except AicoMemoryError as error:
            self._send(connection.routing_id, refusal_frame(error))
        except zmq.ZMQError:
            raise
        except Exception:
            _log.exception("frame not handled", identity=connection.identity.name, kind=kind)
            self._notices.counts["internal_error"] += 1
            unhandled = InvalidMessage("The bus could not handle this frame")
            self._refuse_frame(connection.routing_id, connection.identity, frame, unhandled)

    def _hello_again(self, connection: Connection, frame: bytes) -> None:
        """A client starts over on the same connection, e.g. after it lost count."""
        if connection.answers:
            self._intake.commit()
        self._greet(connection.routing_id, connection.identity, frame)

    def _subscribe(self, connection: Connection, frame: bytes) -> None:
        check = bus_pb2.SubscribeCheck.FromString(frame[1:])
        error: AicoMemoryError | None = None
        if not check.topics or len(check.topics) > _SUBSCRIBE_TOPICS:
            error = InvalidMessage(f"A subscription names 1 to {_SUBSCRIBE_TOPICS} topics")
        refuse = refuse_read if check.consumer else refuse_subscribe
        for name in check.topics:
            error = error or refuse(connection.identity, name)
        if error is None:
            if check.consumer:
                self._marks.join(connection.routing_id, connection.identity.user_id, check.topics)
            granted = bus_pb2.Granted(request=check.request)
            self._send(connection.routing_id, bytes((Kind.GRANTED,)) + granted.SerializeToString())
            return
        if isinstance(error, AccessDenied):
            self._notices.denied(connection, error)
        connection.refused += 1
        self._send(connection.routing_id, refusal_frame(error, request=check.request))

    def _range(self, connection: Connection, frame: bytes) -> None:
        self._ranges.take(connection, bus_pb2.RangeRequest.FromString(frame[1:]))

    def _ask(self, connection: Connection, frame: bytes) -> None:
        question = bus_pb2.Control.FromString(frame[1:])
        try:
            answer = self._control.answer(connection, question.verb, question.body)
        except AicoMemoryError as error:
            if isinstance(error, AccessDenied):
                self._notices.denied(connection, error)
            self._send(connection.routing_id, refusal_frame(error, request=question.request))
            return
        reply = bus_pb2.ControlAnswer(request=question.request, body=answer)
        self._send(connection.routing_id, bytes((Kind.CONTROL_ANSWER,)) + reply.SerializeToString())

    def _pong(self, connection: Connection) -> None:
        self._send(connection.routing_id, _PONG)

    def _refuse_multipart(self, routing_id: bytes, part: zmq.Frame) -> None:
        """Later parts must never be taken for routing ids."""
        first = part.bytes
        while part.more:
            part = self._router.recv(zmq.NOBLOCK, copy=False)
        identity = self._authenticate(routing_id, part)
        if identity is not None:
            self._refuse_frame(routing_id, identity, first, InvalidMessage("A frame to the bus has one part"))

    def _refuse_frame(self, routing_id: bytes, identity: Identity, frame: bytes, error: AicoMemoryError) -> None:
        self._notices.quarantined(identity.name, frame, error)
        self._send(routing_id, refusal_frame(error))


def _version_refusal(hello: bus_pb2.Hello) -> AicoMemoryError | None:
    if hello.protocol != PROTOCOL:
        return VersionMismatch(f"This bus speaks protocol {PROTOCOL}, the client {hello.protocol}")
    if hello.contracts != CONTRACTS:
        return VersionMismatch(f"This bus speaks the contracts {CONTRACTS}, the client {hello.contracts!r}")
    return None

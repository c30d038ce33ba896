"""Answering range requests: a bounded chunk at a time, one chunk a turn of the loop."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from aico_memory.bus.access import ALL_USERS, refuse_read
from aico_memory.bus.broker.connection import Connection
from aico_memory.bus.broker.intake import refusal_frame
from aico_memory.bus.journal import Journal, missing, positions, read_range
from aico_memory.contracts.registry import topics
from aico_memory.contracts.v1 import bus_pb2
from aico_memory.contracts.wire import pack_range
from aico_memory.errors import AccessDenied, AicoMemoryError, InvalidMessage, RateLimited
from aico_memory.settings.bus import BusSettings

_WAITING_PER_CONNECTION = 16
_TOPICS = 256


class Ranges:
    """Range requests that wait, in the order they came."""

    def __init__(self, journal: Journal, settings: BusSettings, send: Callable[[bytes, bytes], bool]) -> None:
        self._journal = journal
        self._settings = settings
        self._send = send
        self._waiting: deque[tuple[Connection, bus_pb2.RangeRequest]] = deque()
        self.answered = 0
        self.records_erased = 0
        self.records_unreadable = 0

    def take(self, connection: Connection, request: bus_pb2.RangeRequest) -> None:
        """Check a request and let it wait for its turn."""
        error = self._refusal(connection, request)
        if error is not None:
            self._send(connection.routing_id, refusal_frame(error, request=request.request))
            return
        connection.ranges += 1
        self._waiting.append((connection, request))

    def waiting(self) -> bool:
        """Whether a request waits."""
        return bool(self._waiting)

    def answer_one(self) -> None:
        """Answer the request that waits longest."""
        connection, request = self._waiting.popleft()
        connection.ranges -= 1
        names = [name.encode() for name in sorted(set(request.topics))]
        records = min(request.max_records or self._settings.range_records, self._settings.range_records)
        size = min(request.max_bytes or self._settings.range_bytes, self._settings.range_bytes)
        from_global = max(1, request.from_global)
        found = read_range(self._journal, names, from_global, records, size, _users(connection, request))
        head = bus_pb2.RangeHead(
            request=request.request, next_global=found.next_global, at_head=found.at_head, epoch=self._journal.epoch,
            missing=missing(self._journal, names, from_global),
        )  # fmt: skip
        for topic, sequence in positions(self._journal, names, found.next_global).items():
            head.positions.add(topic=topic.decode(), sequence=sequence)
        self.answered += 1
        self.records_erased += found.erased
        self.records_unreadable += found.unreadable
        self._send(connection.routing_id, pack_range(head.SerializeToString(), found.batches))

    def forget(self, connection: Connection) -> None:
        """Drop what a connection that is gone has asked for."""
        if connection.ranges:
            self._waiting = deque(entry for entry in self._waiting if entry[0] is not connection)
            connection.ranges = 0

    def _refusal(self, connection: Connection, request: bus_pb2.RangeRequest) -> AicoMemoryError | None:
        if not request.topics or len(request.topics) > _TOPICS:
            return InvalidMessage(f"A range names 1 to {_TOPICS} topics")
        if connection.ranges >= _WAITING_PER_CONNECTION:
            return RateLimited(f"{_WAITING_PER_CONNECTION} range requests of this connection wait already")
        if request.user and not connection.identity.covers(request.user):
            return AccessDenied(f"The identity {connection.identity.name!r} may not read for {request.user!r}")
        for name in request.topics:
            error = refuse_read(connection.identity, name)
            if error is not None:
                return error
            declared = topics().get(name)
            if declared is None or not declared.durable:
                return InvalidMessage(f"{name} is not a durable topic; only those are kept", "Name durable topics in full.")
        return None


def _users(connection: Connection, request: bus_pb2.RangeRequest) -> frozenset[str] | None:
    if request.user:
        return frozenset((request.user,))
    scopes = connection.identity.scopes
    return None if scopes == ALL_USERS else frozenset(scopes)

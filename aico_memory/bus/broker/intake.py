"""Taking publishes: header, access and limits are checked, the envelope is not read."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Protocol

from aico_memory.bus.access import refuse_publish
from aico_memory.bus.broker.connection import Connection, Grant
from aico_memory.bus.broker.delivery import Delivery
from aico_memory.bus.broker.heads import Marks
from aico_memory.bus.journal import Journal, Pending, Provenance
from aico_memory.clock import Clock
from aico_memory.contracts.registry import topics
from aico_memory.contracts.v1 import bus_pb2
from aico_memory.contracts.wire import (
    FLAG_EPHEMERAL,
    MAX_RECORDS_PER_PUBLISH,
    PUBLISH_HEAD,
    RECORD_HEAD,
    REPLY_PREFIX,
    STAMPED_HEAD,
    Kind,
    OutgoingRecord,
    batch_head,
    pack_ack_stamps,
)
from aico_memory.errors import AccessDenied, AicoMemoryError, InvalidMessage, RateLimited, TooLarge
from aico_memory.log import get_logger
from aico_memory.settings.bus import BusSettings

_GRANTS_PER_CONNECTION = 4096
# 256 characters, whatever their encoding.
_USER_BYTES = 1024
_RESYNC_SECONDS = 0.2
_REFUSED_STAMP = bytes(16)
_NO_ID = bytes(16)
_BROKER = "broker"
_OWN_RECORDS_WAITING = 1000
_log = get_logger(__name__)

# (offset in the frame's records, event id, why)
Refusals = list[tuple[int, bytes, AicoMemoryError]]


class Notices(Protocol):
    """What intake tells the rest of the broker."""

    def denied(self, connection: Connection, error: AicoMemoryError) -> None:
        """A publish was refused by the access rules."""


@dataclass(slots=True)
class IntakeCounts:
    """Counters since the start."""

    durable: int = 0
    ephemeral: int = 0
    duplicates: int = 0
    transactions: int = 0
    resyncs: int = 0


class Intake:
    """Collects one drain and commits it."""

    def __init__(
        self,
        journal: Journal,
        delivery: Delivery,
        marks: Marks,
        settings: BusSettings,
        clock: Clock,
        send: Callable[[bytes, bytes], bool],
        notices: Notices,
    ) -> None:
        self._journal = journal
        self._delivery = delivery
        self._marks = marks
        self._settings = settings
        self._clock = clock
        self._send = send
        self._notices = notices
        self._pending: list[Pending] = []
        self._answering: list[Connection] = []
        self._own: list[Pending] = []
        self.pending_bytes = 0
        # Why commands are refused at present, or None.
        self.stopped: AicoMemoryError | None = None
        self.counts = IntakeCounts()
        self.refused: Counter[str] = Counter()

    def take(self, connection: Connection, frame: bytes) -> None:
        """One PUBLISH frame, whole or not at all; InvalidMessage where it is malformed."""
        size = len(frame)
        if size < PUBLISH_HEAD.size:
            raise InvalidMessage("A publish frame is shorter than its head")
        _, flags, count, first = PUBLISH_HEAD.unpack_from(frame, 0)
        if flags & ~FLAG_EPHEMERAL or not 0 < count <= MAX_RECORDS_PER_PUBLISH:
            raise InvalidMessage(f"A publish frame claims {count} records and flags {flags:#x}")
        durable = not flags
        if durable and first > connection.expected:
            self._resync(connection)
            return
        taken, refusals = self._admit(connection, frame, count, durable)
        bucket = connection.bucket
        if bucket.tokens >= len(taken):
            bucket.tokens -= len(taken)
        elif not bucket.take(len(taken)):
            taken, refusals = [], _limit(connection, count, taken, refusals)
        if not durable:
            self._refuse(connection, 0, refusals)
            for place, event_id, envelope in taken:
                self._pass_on(place, event_id, envelope)
            return
        if not connection.answers:
            self._answering.append(connection)
        pending = self._pending
        if refusals:
            self._refuse(connection, first, refusals)
            _runs(connection.answers, first, count, len(pending), {offset for offset, _, _ in refusals})
        else:
            connection.answers.append((first, len(pending), count))
        pending += taken
        self.pending_bytes += size
        connection.published += len(taken)
        connection.expected = max(connection.expected, first + count)

    def publish_own(self, record: OutgoingRecord) -> None:
        """A durable record of the broker itself, committed with the next drain; dropped where too many wait."""
        if len(self._own) < _OWN_RECORDS_WAITING:
            self._own.append((Provenance(record.topic, record.user, _BROKER), record.event_id, record.envelope))

    def waiting(self) -> bool:
        """Whether there is anything to commit."""
        return bool(self._pending or self._own or self._answering)

    def commit(self) -> None:
        """One transaction for all that was taken, then the acknowledgements, then the delivery."""
        pending, answering = self._pending + self._own, self._answering
        self._pending, self._answering, self._own = [], [], []
        self.pending_bytes = 0
        stamps: list[bytes] = []
        batches: list[bytes] = []
        if pending:
            try:
                appended = self._journal.append(pending)
            except AicoMemoryError as error:
                self._refuse_drain(answering, pending, error)
                return
            stamps, batches = appended.stamps, appended.batches
            self.counts.duplicates += appended.duplicates
            self.counts.durable += len(pending)
            self.counts.transactions += 1
        for connection in answering:
            self._acknowledge(connection, stamps)
        for batch in batches:
            self._delivery.send(batch)
        if batches:
            self._marks.send(batches)

    def forget(self, connection: Connection) -> None:
        """This connection is gone; what it published stays."""
        if connection in self._answering:
            self._answering.remove(connection)

    def _admit(self, connection: Connection, frame: bytes, count: int, durable: bool) -> tuple[list[Pending], Refusals]:
        """The records of a frame that are allowed, and why the others are not."""
        size = len(frame)
        head_size = RECORD_HEAD.size
        unpack = RECORD_HEAD.unpack_from
        grants = connection.grants
        taken: list[Pending] = []
        refusals: Refusals = []
        at = PUBLISH_HEAD.size
        try:
            for offset in range(count):
                event_id, topic_length, user_length, length = unpack(frame, at)
                topic_at = at + head_size
                envelope_at = topic_at + topic_length + user_length
                at = envelope_at + length
                # Registered topics and reply topics are prefix-free, so topic and user in one are no ambiguous key.
                grant = grants.get(frame[topic_at:envelope_at])
                if grant is None:
                    found = self._decide(connection, frame[topic_at:envelope_at], topic_length)
                    if isinstance(found, AicoMemoryError):
                        refusals.append((offset, event_id, found))
                        continue
                    grant = found
                if not 0 < length <= grant.max_bytes or grant.durable is not durable or event_id == _NO_ID:
                    refusals.append((offset, event_id, _unfit(grant, durable, length)))
                elif grant.command and self.stopped is not None:
                    refusals.append((offset, event_id, self.stopped))
                else:
                    taken.append((grant.place, event_id, frame[envelope_at:at]))
        except struct.error:
            raise InvalidMessage("A publish frame ends inside a record's header") from None
        if at != size:
            raise InvalidMessage(f"The lengths in a publish frame add up to {at} bytes, it has {size}")
        return taken, refusals

    def _decide(self, connection: Connection, both: bytes, topic_length: int) -> Grant | AicoMemoryError:
        try:
            topic, user = both[:topic_length].decode(), both[topic_length:].decode()
        except UnicodeDecodeError:
            return InvalidMessage("Topic and user must be UTF-8")
        error = refuse_publish(connection.identity, topic, user)
        if error is None and (len(user.encode()) > _USER_BYTES or not user.isprintable()):
            error = InvalidMessage(f"A user id has at most {_USER_BYTES} bytes and no control characters")
        if error is not None:
            if error.code == AccessDenied.code:
                self._notices.denied(connection, error)
            return error
        if topic.startswith(REPLY_PREFIX):
            grant = Grant(Provenance(topic, user, connection.identity.name), False, self._settings.reply_bytes)
        else:
            declared = topics()[topic]
            grant = Grant(
                Provenance(topic, user, connection.identity.name),
                declared.durable,
                declared.max_bytes or self._settings.max_bytes,
                # What workers tell one another was decided before, and is theirs to finish.
                declared.durable and declared.reply is not None and not connection.identity.role.replies,
            )
        if len(connection.grants) >= _GRANTS_PER_CONNECTION:
            connection.grants.clear()
        connection.grants[both] = grant
        return grant

    def _pass_on(self, place: Provenance, event_id: bytes, envelope: bytes) -> None:
        """Fan an ephemeral record out at once; it has no place in any sequence."""
        head = STAMPED_HEAD.pack(
            0, 0, self._clock.now_us(), event_id, place.sender_length, place.user_length, len(envelope)
        )  # fmt: skip
        self._delivery.send(b"".join((batch_head(place.topic, self._journal.epoch, 1), head, place.tail, envelope)))
        self.counts.ephemeral += 1

    def _acknowledge(self, connection: Connection, stamps: list[bytes]) -> None:
        answers, connection.answers = connection.answers, []
        start = after = answers[0][0]
        parts: list[bytes] = []
        for first, index, count in answers:
            if first != after:
                self._send(connection.routing_id, pack_ack_stamps(start, parts))
                start, parts = first, []
            parts += [_REFUSED_STAMP] * count if index < 0 else stamps[index : index + count]
            after = first + count
        self._send(connection.routing_id, pack_ack_stamps(start, parts))

    def _refuse_drain(self, answering: list[Connection], pending: list[Pending], error: AicoMemoryError) -> None:
        _log.error("durable publishes refused", error=str(error), records=len(pending))
        for connection in answering:
            runs = connection.answers
            for first, index, count in runs:
                if index >= 0:
                    self._refuse(connection, first, [(at, pending[index + at][1], error) for at in range(count)])
            connection.answers = [(first, -1, count) for first, _, count in runs]
            self._acknowledge(connection, [])

    def _refuse(self, connection: Connection, first: int, refusals: Refusals) -> None:
        for offset, event_id, error in refusals:
            connection.refused += 1
            self.refused[error.code] += 1
            sequence = first + offset if first else 0
            self._send(connection.routing_id, refusal_frame(error, sequence, event_id, connection))

    def _resync(self, connection: Connection) -> None:
        now = monotonic()
        if connection.resync_expected == connection.expected and now - connection.resync_at < _RESYNC_SECONDS:
            return
        connection.resync_expected, connection.resync_at = connection.expected, now
        self.counts.resyncs += 1
        self._send(
            connection.routing_id, bytes((Kind.RESYNC,)) + bus_pb2.Resync(expected=connection.expected).SerializeToString()
        )


def refusal_frame(
    error: AicoMemoryError,
    producer_sequence: int = 0,
    event_id: bytes = b"",
    connection: Connection | None = None,
    request: int = 0,
) -> bytes:
    """A REFUSED frame."""
    retry = 0
    if error.code == "rate_limited" and connection is not None:
        retry = connection.bucket.wait_ms(1)
    elif error.code == "storage_full":
        retry = 1000
    refusal = bus_pb2.Refusal(
        producer_sequence=producer_sequence, event_id=event_id, request=request,
        code=error.code, detail=error.detail, mend=error.mend, retry_after_ms=retry,
    )  # fmt: skip
    return bytes((Kind.REFUSED,)) + refusal.SerializeToString()


def _unfit(grant: Grant, durable: bool, length: int) -> AicoMemoryError:
    topic = grant.place.topic.decode()
    if length > grant.max_bytes:
        return TooLarge(f"{length} bytes on {topic}; allowed are {grant.max_bytes}")
    if grant.durable is not durable:
        kind = "durable" if grant.durable else "ephemeral"
        return InvalidMessage(f"{topic} is {kind} and must be published so")
    return InvalidMessage("A record needs an event id and an envelope")


def _limit(connection: Connection, count: int, taken: list[Pending], refusals: Refusals) -> Refusals:
    """Refusals of all records of a frame that came too fast."""
    limited = RateLimited(f"The identity {connection.identity.name!r} publishes faster than its limit")
    refused = {offset for offset, _, _ in refusals}
    offsets = (offset for offset in range(count) if offset not in refused)
    late = [(offset, one[1], limited) for offset, one in zip(offsets, taken, strict=True)]
    return sorted([*refusals, *late], key=lambda refusal: refusal[0])


def _runs(answers: list[tuple[int, int, int]], first: int, count: int, index: int, refused: set[int]) -> None:
    """Append the runs of accepted and refused records of one frame."""
    offset = 0
    while offset < count:
        end = offset + 1
        bad = offset in refused
        while end < count and (end in refused) == bad:
            end += 1
        answers.append((first + offset, -1 if bad else index, end - offset))
        if not bad:
            index += end - offset
        offset = end

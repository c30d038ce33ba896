"""The hot frames of the bus, packed by hand; everything else is protobuf behind a kind byte.

A frame between client and broker starts with one byte, its kind. Three of them
carry records and are little-endian structs:

* PUBLISH  `kind u8, flags u8, count u16, first producer sequence u64`, then per record
  `event id 16s, topic length u8, user length u16, envelope length u32` + topic + user + envelope.
* ACK      `kind u8, first producer sequence u64, count u32`, then per record
  `global sequence u64, topic sequence u64` (0, 0 for a refused one: its Refusal frame came before).
* RANGE    `kind u8, head length u32` + RangeHead + batches, each `length u32` + batch.

A *batch* is a run of stamped records of one topic, as fanned out and as replayed:
topic text, then `0 u8, version u8, epoch u64, count u32`, then per record
`global sequence u64, topic sequence u64, received µs i64, event id 16s, sender length u8,
user length u16, envelope length u32` + sender + user + envelope.
"""

from __future__ import annotations

import hashlib
import struct
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from aico_memory.errors import InvalidMessage

PROTOCOL = 1
# Package and major version of the contracts; both sides must name the same.
CONTRACTS = "aico.memory.v1"
BATCH_VERSION = 1
MAX_RECORDS_PER_PUBLISH = 4096
HEADS_TOPIC = b"_bus/heads/"
MARKS_PREFIX = b"_bus/marks/"
READY_PREFIX = b"_bus/ready/"
REPLY_PREFIX = "memory/reply/"


class Kind(IntEnum):
    """First byte of a frame between client and broker."""

    HELLO = 1
    WELCOME = 2
    PUBLISH = 3
    ACK = 4
    REFUSED = 5
    RESYNC = 6
    SUBSCRIBE = 7
    GRANTED = 8
    RANGE_REQUEST = 9
    RANGE = 10
    CONTROL = 11
    CONTROL_ANSWER = 12
    PING = 13
    PONG = 14
    GOODBYE = 15


FLAG_EPHEMERAL = 1

PUBLISH_HEAD = struct.Struct("<BBHQ")
RECORD_HEAD = struct.Struct("<16sBHI")
ACK_HEAD = struct.Struct("<BQI")
RANGE_HEAD = struct.Struct("<BI")
BATCH_HEAD = struct.Struct("<BBQI")
STAMPED_HEAD = struct.Struct("<QQq16sBHI")
LENGTH = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class OutgoingRecord:
    """One record as a publisher sends it: the fixed header and the envelope's bytes."""

    event_id: bytes
    topic: str
    user: str
    envelope: bytes


@dataclass(frozen=True, slots=True)
class StampedRecord:
    """One record as the broker delivers it: the header plus what the broker vouches for."""

    topic: str
    event_id: bytes
    user: str
    envelope: bytes
    sender: str
    global_sequence: int
    topic_sequence: int
    received_us: int

    @property
    def id(self) -> uuid.UUID:
        return uuid.UUID(bytes=self.event_id)

    @property
    def erased(self) -> bool:
        """The record's user was forgotten: the place in the order remains, the content is gone."""
        return not self.envelope


def reply_topic(identity: str, session: bytes) -> str:
    """The topic on which only this connection of this identity hears answers."""
    return f"{REPLY_PREFIX}{identity}/{session.hex()}/v1/"


def marks_topic(topics: Sequence[str]) -> bytes:
    """The topic of the marks for consumers of exactly these topics."""
    return b"%s%s/" % (MARKS_PREFIX, hashlib.sha256("\n".join(sorted(set(topics))).encode()).hexdigest()[:32].encode())


def pack_publish(records: Sequence[OutgoingRecord], first_sequence: int, ephemeral: bool) -> bytes:
    """One PUBLISH frame; `first_sequence` is the producer sequence of the first record (0 if ephemeral)."""
    parts = [PUBLISH_HEAD.pack(Kind.PUBLISH, FLAG_EPHEMERAL if ephemeral else 0, len(records), first_sequence)]
    for record in records:
        topic, user = record.topic.encode(), record.user.encode()
        parts += (RECORD_HEAD.pack(record.event_id, len(topic), len(user), len(record.envelope)), topic, user, record.envelope)
    return b"".join(parts)


def unpack_publish(frame: bytes) -> tuple[int, bool, list[tuple[bytes, bytes, bytes, bytes]]]:
    """First producer sequence, whether ephemeral, and (event id, topic, user, envelope) per record, undecoded.

    Raises InvalidMessage where lengths do not add up: a frame is taken whole or not at all.
    """
    size = len(frame)
    if size < PUBLISH_HEAD.size:
        raise InvalidMessage("A publish frame is shorter than its head")
    _, flags, count, first = PUBLISH_HEAD.unpack_from(frame, 0)
    if flags & ~FLAG_EPHEMERAL or not 0 < count <= MAX_RECORDS_PER_PUBLISH:
        raise InvalidMessage(f"A publish frame claims {count} records and flags {flags:#x}")
    at = PUBLISH_HEAD.size
    step = RECORD_HEAD.size
    unpack = RECORD_HEAD.unpack_from
    records = []
    for _ in range(count):
        if at + step > size:
            raise InvalidMessage("A publish frame ends inside a record's header")
        event_id, topic_length, user_length, envelope_length = unpack(frame, at)
        topic_at = at + step
        user_at = topic_at + topic_length
        envelope_at = user_at + user_length
        at = envelope_at + envelope_length
        if at > size:
            raise InvalidMessage("A publish frame ends inside a record")
        records.append((event_id, frame[topic_at:user_at], frame[user_at:envelope_at], frame[envelope_at:at]))
    if at != size:
        raise InvalidMessage(f"{size - at} bytes stand after the last record of a publish frame")
    return first, bool(flags & FLAG_EPHEMERAL), records


def pack_ack(first_sequence: int, sequences: Sequence[tuple[int, int]]) -> bytes:
    """One ACK frame: (global, topic) sequence of each record from `first_sequence` on."""
    flat = [number for pair in sequences for number in pair]
    return ACK_HEAD.pack(Kind.ACK, first_sequence, len(sequences)) + struct.pack(f"<{len(flat)}Q", *flat)


def pack_ack_stamps(first_sequence: int, stamps: Sequence[bytes]) -> bytes:
    """The same from sequences that are packed already, 16 bytes each."""
    return ACK_HEAD.pack(Kind.ACK, first_sequence, len(stamps)) + b"".join(stamps)


def unpack_ack(frame: bytes) -> tuple[int, list[tuple[int, int]]]:
    """First producer sequence and the (global, topic) sequences from there on."""
    if len(frame) < ACK_HEAD.size:
        raise InvalidMessage("An acknowledgement is shorter than its head")
    _, first, count = ACK_HEAD.unpack_from(frame, 0)
    if len(frame) != ACK_HEAD.size + 16 * count:
        raise InvalidMessage("An acknowledgement's length does not fit its count")
    flat = struct.unpack_from(f"<{2 * count}Q", frame, ACK_HEAD.size)
    return first, list(zip(flat[::2], flat[1::2], strict=True))


def pack_stamped(record: StampedRecord) -> bytes:
    """One stamped record inside a batch."""
    sender, user = record.sender.encode(), record.user.encode()
    head = STAMPED_HEAD.pack(
        record.global_sequence, record.topic_sequence, record.received_us, record.event_id,
        len(sender), len(user), len(record.envelope),
    )  # fmt: skip
    return b"".join((head, sender, user, record.envelope))


def batch_head(topic: bytes, epoch: int, count: int) -> bytes:
    """What stands before the stamped records of a batch."""
    return topic + BATCH_HEAD.pack(0, BATCH_VERSION, epoch, count)


def pack_batch(topic: str, epoch: int, records: Sequence[StampedRecord]) -> bytes:
    """One batch frame of records of one topic, in order."""
    return b"".join([batch_head(topic.encode(), epoch, len(records)), *map(pack_stamped, records)])


def unpack_batch(frame: bytes) -> tuple[str, int, list[StampedRecord]]:
    """Topic, journal epoch and records of a batch; InvalidMessage where it is malformed."""
    end = frame.find(b"\0")
    if end < 0 or end + BATCH_HEAD.size > len(frame):
        raise InvalidMessage("A batch has no head")
    topic = _text(frame[:end])
    _, version, epoch, count = BATCH_HEAD.unpack_from(frame, end)
    if version != BATCH_VERSION:
        raise InvalidMessage(f"A batch of version {version}; this side reads {BATCH_VERSION}")
    return topic, epoch, list(_stamped(frame, end + BATCH_HEAD.size, count, topic))


def _stamped(frame: bytes, at: int, count: int, topic: str) -> Iterator[StampedRecord]:
    for _ in range(count):
        if at + STAMPED_HEAD.size > len(frame):
            raise InvalidMessage("A batch ends inside a record's header")
        total, number, received, event_id, sender_length, user_length, envelope_length = STAMPED_HEAD.unpack_from(frame, at)
        sender_at = at + STAMPED_HEAD.size
        user_at = sender_at + sender_length
        envelope_at = user_at + user_length
        at = envelope_at + envelope_length
        if at > len(frame):
            raise InvalidMessage("A batch ends inside a record")
        yield StampedRecord(
            topic, event_id, _text(frame[user_at:envelope_at]), frame[envelope_at:at],
            _text(frame[sender_at:user_at]), total, number, received,
        )  # fmt: skip


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InvalidMessage("A name in a record is no UTF-8") from error


def pack_range(head: bytes, batches: Sequence[bytes]) -> bytes:
    """One RANGE frame: a serialised RangeHead and the batches it announces."""
    parts = [RANGE_HEAD.pack(Kind.RANGE, len(head)), head]
    for batch in batches:
        parts += (LENGTH.pack(len(batch)), batch)
    return b"".join(parts)


def unpack_range(frame: bytes) -> tuple[bytes, list[bytes]]:
    """The serialised RangeHead and the batches of a RANGE frame."""
    if len(frame) < RANGE_HEAD.size:
        raise InvalidMessage("A range is shorter than its head")
    _, head_length = RANGE_HEAD.unpack_from(frame, 0)
    at = RANGE_HEAD.size + head_length
    head = frame[RANGE_HEAD.size : at]
    batches = []
    while at < len(frame):
        if at + LENGTH.size > len(frame):
            raise InvalidMessage("A range ends inside a length")
        (length,) = LENGTH.unpack_from(frame, at)
        at += LENGTH.size
        if at + length > len(frame):
            raise InvalidMessage("A range ends inside a batch")
        batches.append(frame[at : at + length])
        at += length
    return head, batches

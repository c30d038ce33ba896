"""How the journal's values look on disk.

A *group* is a run of records of one topic. Its head is clear: version, bytes of
sealing per record, topic, count, first global and first topic sequence. Each
record in it is a clear fixed header (the same bytes as in a delivered batch:
sequences, received time, event id, lengths, then sender and user) followed by
the envelope, sealed with header and topic as context, so that a record moved,
renamed or edited does not open.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from aico_memory.contracts.wire import STAMPED_HEAD
from aico_memory.errors import StoreCorrupt

GROUP_VERSION = 1
GROUP_HEAD = struct.Struct("<BBHIQQ")
SEQUENCES = struct.Struct("<QQ")
KEY = struct.Struct(">Q")
INDEX_VALUE = struct.Struct("<QI")


@dataclass(frozen=True, slots=True)
class GroupHead:
    """What stands before the records of a group."""

    topic: bytes
    # Bytes that sealing adds to an envelope: nonce and tag, or 0 with encryption off.
    overhead: int
    count: int
    first_global: int
    first_topic: int
    # Where the first record begins.
    start: int

    @property
    def last_global(self) -> int:
        return self.first_global + self.count - 1


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """One record of a group: where its parts lie in the group's bytes."""

    global_sequence: int
    topic_sequence: int
    received_us: int
    event_id: bytes
    user: bytes
    # Header, sender and user: delivered as they are.
    head: bytes
    sealed: bytes


def pack_group_head(topic: bytes, overhead: int, count: int, first_global: int, first_topic: int) -> bytes:
    """The head of a group."""
    return GROUP_HEAD.pack(GROUP_VERSION, overhead, len(topic), count, first_global, first_topic) + topic


def unpack_group_head(value: bytes) -> GroupHead:
    """The head of a group; StoreCorrupt where it is none."""
    if len(value) < GROUP_HEAD.size:
        raise StoreCorrupt("A journal group is shorter than its head")
    version, overhead, length, count, first_global, first_topic = GROUP_HEAD.unpack_from(value, 0)
    if version != GROUP_VERSION:
        raise StoreCorrupt(f"A journal group of version {version}; this side reads {GROUP_VERSION}")
    start = GROUP_HEAD.size + length
    return GroupHead(value[GROUP_HEAD.size : start], overhead, count, first_global, first_topic, start)


def stored_records(value: bytes, group: GroupHead) -> Iterator[StoredRecord]:
    """The records of a group in order; StoreCorrupt where lengths do not add up."""
    at = group.start
    size = len(value)
    unpack = STAMPED_HEAD.unpack_from
    for _ in range(group.count):
        if at + STAMPED_HEAD.size > size:
            raise StoreCorrupt(f"The journal group {group.first_global} ends inside a header")
        total, number, received, event_id, sender_length, user_length, envelope_length = unpack(value, at)
        user_at = at + STAMPED_HEAD.size + sender_length
        sealed_at = user_at + user_length
        end = sealed_at + envelope_length + group.overhead
        if end > size:
            raise StoreCorrupt(f"The journal group {group.first_global} ends inside a record")
        yield StoredRecord(
            total, number, received, event_id, value[user_at:sealed_at], value[at:sealed_at], value[sealed_at:end]
        )  # fmt: skip
        at = end


def erased_head(record: StoredRecord) -> bytes:
    """The record's header with an envelope length of zero: what is delivered where its user was forgotten."""
    sender_length = len(record.head) - STAMPED_HEAD.size - len(record.user)
    head = STAMPED_HEAD.pack(
        record.global_sequence, record.topic_sequence, record.received_us, record.event_id, sender_length, len(record.user), 0
    )  # fmt: skip
    return head + record.head[STAMPED_HEAD.size :]


def index_key(topic: bytes, first_global: int) -> bytes:
    """Key of a group in the by-topic index."""
    return topic + b"\0" + KEY.pack(first_global)


def unpack_index_key(key: bytes) -> tuple[bytes, int]:
    """Topic and first global sequence of an index key."""
    return key[:-9], KEY.unpack_from(key, len(key) - 8)[0]

"""How the journal's values look on disk.

A *group* is a stretch of records of one topic: a clear head (version, topic,
count, first global and first topic sequence) and then its *runs*, the stretches
of one user. A run has the clear headers of its records, one behind the other
(the same bytes as in a delivered batch: sequences, received time, event id,
lengths, then sender and user), and their envelopes, joined and sealed at once
with the user's key. Headers and topic are the context of the seal, so that a
record moved, renamed or edited does not open, and one call seals what came in
one drain.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aico_memory.contracts.wire import STAMPED_HEAD
from aico_memory.errors import StoreCorrupt

GROUP_VERSION = 2
GROUP_HEAD = struct.Struct("<BHIQQ")
# Records, bytes of their headers, bytes of their envelopes when sealed.
RUN_HEAD = struct.Struct("<III")
SEQUENCES = struct.Struct("<QQ")
KEY = struct.Struct(">Q")
INDEX_VALUE = struct.Struct("<QI")


@dataclass(frozen=True, slots=True)
class GroupHead:
    """What stands before the records of a group."""

    topic: bytes
    count: int
    first_global: int
    first_topic: int
    # Where the first run begins.
    start: int

    @property
    def last_global(self) -> int:
        return self.first_global + self.count - 1


# (global sequence, event id, header with sender and user, bytes of the envelope)
StoredRecord = tuple[int, bytes, bytes, int]


@dataclass(frozen=True, slots=True)
class StoredRun:
    """The records of one user behind each other, as they lie in a group."""

    count: int
    user: bytes
    # The headers of all records, one behind the other: clear, and part of the seal's context.
    headers: bytes
    sealed: bytes

    def records(self) -> Iterator[StoredRecord]:
        """The records in order; StoreCorrupt where lengths do not add up."""
        at, headers = 0, self.headers
        fixed, unpack = STAMPED_HEAD.size, STAMPED_HEAD.unpack_from
        try:
            for _ in range(self.count):
                total, _, _, event_id, sender_length, user_length, envelope_length = unpack(headers, at)
                end = at + fixed + sender_length + user_length
                yield total, event_id, headers[at:end], envelope_length
                at = end
        except struct.error:
            raise StoreCorrupt("A run of the journal ends inside a header") from None
        if at != len(headers):
            raise StoreCorrupt("The headers of a run of the journal do not add up")


def pack_group_head(topic: bytes, count: int, first_global: int, first_topic: int) -> bytes:
    """The head of a group."""
    return GROUP_HEAD.pack(GROUP_VERSION, len(topic), count, first_global, first_topic) + topic


def unpack_group_head(value: bytes) -> GroupHead:
    """The head of a group; StoreCorrupt where it is none."""
    if len(value) < GROUP_HEAD.size:
        raise StoreCorrupt("A journal group is shorter than its head")
    version, length, count, first_global, first_topic = GROUP_HEAD.unpack_from(value, 0)
    if version != GROUP_VERSION:
        raise StoreCorrupt(f"A journal group of version {version}; this side reads {GROUP_VERSION}")
    start = GROUP_HEAD.size + length
    return GroupHead(value[GROUP_HEAD.size : start], count, first_global, first_topic, start)


def pack_run(headers: Sequence[bytes], sealed: bytes) -> bytes:
    """One run of a group."""
    clear = b"".join(headers)
    return b"".join((RUN_HEAD.pack(len(headers), len(clear), len(sealed)), clear, sealed))


def stored_runs(value: bytes, group: GroupHead) -> Iterator[StoredRun]:
    """The runs of a group in order; StoreCorrupt where lengths do not add up."""
    at, size, records = group.start, len(value), 0
    while at < size:
        if at + RUN_HEAD.size > size:
            raise StoreCorrupt(f"The journal group {group.first_global} ends inside the head of a run")
        count, clear, sealed = RUN_HEAD.unpack_from(value, at)
        at += RUN_HEAD.size
        end = at + clear + sealed
        if end > size or clear < STAMPED_HEAD.size or not count:
            raise StoreCorrupt(f"The journal group {group.first_global} ends inside a run")
        _, _, _, _, sender_length, user_length, _ = STAMPED_HEAD.unpack_from(value, at)
        user_at = at + STAMPED_HEAD.size + sender_length
        yield StoredRun(count, value[user_at : user_at + user_length], value[at : at + clear], value[at + clear : end])
        records += count
        at = end
    if records != group.count:
        raise StoreCorrupt(f"The journal group {group.first_global} names {group.count} records and holds {records}")


def erased_header(header: bytes) -> bytes:
    """A record's header with an envelope length of zero: what is delivered where its user was forgotten."""
    total, number, received, event_id, sender_length, user_length, _ = STAMPED_HEAD.unpack_from(header)
    fixed = STAMPED_HEAD.pack(total, number, received, event_id, sender_length, user_length, 0)
    return fixed + header[STAMPED_HEAD.size :]


def index_key(topic: bytes, first_global: int) -> bytes:
    """Key of a group in the by-topic index."""
    return topic + b"\0" + KEY.pack(first_global)


def unpack_index_key(key: bytes) -> tuple[bytes, int]:
    """Topic and first global sequence of an index key."""
    return key[:-9], KEY.unpack_from(key, len(key) - 8)[0]

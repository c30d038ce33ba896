"""Keys and small values of the working store; none of them holds a word or a name of a user.

Users and sessions stand as 16-byte keyed digests, times and orders as 8 bytes
that sort as numbers do.

| table     | key                             | value |
|-----------|---------------------------------|-------|
| messages  | user, said at, order            | sealed message (user's key) |
| sessions  | user, session, said at, order   | - |
| by_event  | event id                        | user, session, said at, received at, order |
| pending   | user, received at, order        | event id |
| waiting   | received at, order              | event id, of what nobody acknowledged |
| done      | received at, order              | event id, of what is acknowledged |
| users     | user                            | messages, pending, sealed user id (store's key) |
| buffers   | user, session                   | touched at, sealed buffer (user's key) |
| outgoing  | position                        | sealed record |
| queued    | event id                        | position |
| attempts  | event id                        | count |
| meta      | name                            | cursor, counters |
"""

from __future__ import annotations

import struct
from typing import NamedTuple, Self

TABLES = (
    "messages", "sessions", "by_event", "pending", "waiting", "done",
    "users", "buffers", "outgoing", "queued", "attempts", "meta",
)  # fmt: skip
NUMBER = struct.Struct(">Q")
USER_HEAD = struct.Struct(">II")
CURSOR = struct.Struct(">QQ")
NO_SESSION = bytes(16)
NEWEST = b"\xff" * 17
_SIGN = 1 << 63
_PLACE = struct.Struct(">16s16s8s8s8s")


def time_key(microseconds: int) -> bytes:
    """8 bytes that sort like the signed number: people speak of times before 1970 too."""
    return NUMBER.pack(microseconds + _SIGN)


def time_of(key: bytes) -> int:
    """The number of a `time_key`."""
    return int(NUMBER.unpack(key)[0]) - _SIGN


class Place(NamedTuple):
    """Where a message stands in every table."""

    user: bytes
    session: bytes
    said: bytes
    received: bytes
    order: bytes

    @classmethod
    def unpack(cls, packed: bytes) -> Self:
        return cls(*_PLACE.unpack(packed))

    def pack(self) -> bytes:
        return _PLACE.pack(*self)

    @property
    def message_key(self) -> bytes:
        return self.user + self.said + self.order

    @property
    def session_key(self) -> bytes:
        return self.user + self.session + self.said + self.order

    @property
    def pending_key(self) -> bytes:
        return self.user + self.received + self.order

    @property
    def queue_key(self) -> bytes:
        return self.received + self.order

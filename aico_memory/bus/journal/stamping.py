"""Stamping and sealing one drain: what goes to disk and what goes out live, in one pass over the records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from aico_memory.bus.journal.layout import INDEX_VALUE, KEY, index_key, pack_group_head
from aico_memory.contracts.wire import STAMPED_HEAD, batch_head
from aico_memory.vault.sealer import Sealer


class Provenance:
    """What the journal needs to know about a record beside its id and bytes; one object serves many records."""

    __slots__ = ("sender_length", "tail", "topic", "user", "user_length")

    def __init__(self, topic: str, user: str, sender: str) -> None:
        self.topic = topic.encode()
        self.user = user
        self.tail = sender.encode() + user.encode()
        self.sender_length = len(sender.encode())
        self.user_length = len(user.encode())


# (provenance, event id, envelope)
Pending = tuple[Provenance, bytes, bytes]


class Stamped:
    """One drain, ready to commit: pairs for each database, and what follows once they are on disk."""

    __slots__ = ("batches", "events", "groups", "index", "moved", "stamps", "total")

    def __init__(self) -> None:
        self.groups: list[tuple[bytes, bytes]] = []
        self.index: list[tuple[bytes, bytes]] = []
        self.events: list[tuple[bytes, bytes]] = []
        # Packed (global, topic) sequence of each record.
        self.stamps: list[bytes] = []
        self.batches: list[bytes] = []
        # New heads: topic -> (global, topic sequence).
        self.moved: dict[bytes, tuple[int, int]] = {}
        # Last global sequence.
        self.total = 0

    def finish(
        self, epoch: int, topic: bytes, total: int, number: int, overhead: int, live: list[bytes], sealed: list[bytes]
    ) -> None:
        """Close the group of records that were collected, the last of which has these sequences."""
        count = len(live) // 2
        first, first_number = total - count + 1, number - count + 1
        head = pack_group_head(topic, overhead, count, first, first_number)
        self.groups.append((KEY.pack(first), b"".join((head, *sealed))))
        self.index.append((index_key(topic, first), INDEX_VALUE.pack(first_number, count)))
        self.batches.append(b"".join((batch_head(topic, epoch, count), *live)))
        self.moved[topic] = (total, number)
        self.total = total


def stamp(
    pending: Sequence[Pending],
    head: int,
    heads: Mapping[bytes, tuple[int, int]],
    epoch: int,
    now_us: int,
    batch_bytes: int,
    sealer_of: Callable[[str], Sealer],
) -> Stamped:
    """Give every record its sequences, in the order of `pending`; groups are cut where the topic changes.

    `head` and `heads` are the last sequences given out. No group grows far beyond `batch_bytes`.
    """
    pack = STAMPED_HEAD.pack
    stamped = Stamped()
    sealers: dict[str, Sealer] = {}
    events, stamps = stamped.events, stamped.stamps
    live: list[bytes] = []
    sealed: list[bytes] = []
    total = head
    last: Provenance | None = None
    topic = tail = b""
    seal: Callable[[bytes, bytes], bytes] | None = None
    number = size = overhead = sender_length = user_length = 0
    for place, event_id, envelope in pending:
        if place is not last or size > batch_bytes or seal is None:
            if live and (place.topic != topic or size > batch_bytes):
                stamped.finish(epoch, topic, total, number, overhead, live, sealed)
                live, sealed = [], []
                size = 0
            if not live:
                number = (stamped.moved.get(place.topic) or heads.get(place.topic, (0, 0)))[1]
            last, topic, tail = place, place.topic, place.tail
            sender_length, user_length = place.sender_length, place.user_length
            if place.user not in sealers:
                sealers[place.user] = sealer_of(place.user)
            seal = sealers[place.user].seal
        total += 1
        number += 1
        length = len(envelope)
        record_head = pack(total, number, now_us, event_id, sender_length, user_length, length) + tail
        secret = seal(envelope, record_head + topic)
        live += (record_head, envelope)
        sealed += (record_head, secret)
        size += length
        overhead = len(secret) - length
        sequences = record_head[:16]
        events.append((event_id, sequences))
        stamps.append(sequences)
    stamped.finish(epoch, topic, total, number, overhead, live, sealed)
    return stamped

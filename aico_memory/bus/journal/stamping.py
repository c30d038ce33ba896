"""Stamping and sealing one drain: what goes to disk and what goes out live, in one pass over the records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from aico_memory.bus.journal.layout import (
    INDEX_VALUE,
    KEY,
    SEQUENCES,
    index_key,
    pack_group_head,
    pack_run,
    stored_runs,
    unpack_group_head,
)
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


Seal = Callable[[bytes, bytes], bytes]
# (provenance, event id, envelope)
Pending = tuple[Provenance, bytes, bytes]


class Stamped:
    """One drain, ready to commit: pairs for each database, and what follows once they are on disk."""

    __slots__ = ("batches", "events", "groups", "index", "moved", "sizes", "stamps", "total")

    def __init__(self) -> None:
        self.groups: list[tuple[bytes, bytes]] = []
        self.index: list[tuple[bytes, bytes]] = []
        self.events: list[tuple[bytes, bytes]] = []
        # Packed (global, topic) sequence of each record.
        self.stamps: list[bytes] = []
        self.batches: list[bytes] = []
        # Topic, count and first global sequence of each group.
        self.sizes: list[tuple[bytes, int, int]] = []
        # New heads: topic -> (global, topic sequence).
        self.moved: dict[bytes, tuple[int, int]] = {}
        # Last global sequence.
        self.total = 0

    def extend(self, other: Stamped) -> None:
        """Put what goes to disk of another drain behind this one."""
        self.groups += other.groups
        self.index += other.index
        self.events += other.events
        self.sizes += other.sizes
        self.moved.update(other.moved)
        self.total = other.total

    def add_stored(self, value: bytes) -> None:
        """Put a group behind this one that was read back from disk."""
        group = unpack_group_head(value)
        for run in stored_runs(value, group):
            self.events += [(event_id, header[: SEQUENCES.size]) for _, event_id, header, _ in run.records()]
        self.add_group(value, group.topic, group.count, group.first_global, group.first_topic)

    def add_group(self, value: bytes, topic: bytes, count: int, first_global: int, first_topic: int) -> None:
        """Put a group behind this one whose events are noted already."""
        self.groups.append((KEY.pack(first_global), value))
        self.sizes.append((topic, count, first_global))
        self.index.append((index_key(topic, first_global), INDEX_VALUE.pack(first_topic, count)))
        self.moved[topic] = (first_global + count - 1, first_topic + count - 1)
        self.total = first_global + count - 1


class _Group:
    """A group that is being collected."""

    __slots__ = ("_envelopes", "_headers", "_runs", "_seal", "live", "topic")

    def __init__(self, topic: bytes) -> None:
        self.topic = topic
        # Headers and envelopes in turn, as they are delivered.
        self.live: list[bytes] = []
        self._runs: list[bytes] = []
        self._headers: list[bytes] = []
        self._envelopes: list[bytes] = []
        self._seal: Seal | None = None

    def turn_to(self, seal: Seal) -> tuple[list[bytes], list[bytes], list[bytes]]:
        """The lists that take what follows, which this seal closes: live parts, headers, envelopes."""
        if seal is not self._seal:
            self._close_run()
            self._seal = seal
            self._headers, self._envelopes = [], []
        return self.live, self._headers, self._envelopes

    def finish(self, into: Stamped, epoch: int, total: int, number: int) -> None:
        """Close the group, whose last record has these sequences."""
        self._close_run()
        count = len(self.live) // 2
        first, first_number = total - count + 1, number - count + 1
        head = pack_group_head(self.topic, count, first, first_number)
        into.add_group(b"".join((head, *self._runs)), self.topic, count, first, first_number)
        into.batches.append(b"".join((batch_head(self.topic, epoch, count), *self.live)))

    def _close_run(self) -> None:
        if self._headers and self._seal is not None:
            sealed = self._seal(b"".join(self._envelopes), b"".join((*self._headers, self.topic)))
            self._runs.append(pack_run(self._headers, sealed))


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
    seals: dict[str, Seal] = {}
    events = stamped.events
    live: list[bytes] = []
    headers: list[bytes] = []
    envelopes: list[bytes] = []
    group: _Group | None = None
    last: Provenance | None = None
    tail = b""
    total, number, size = head, 0, 0
    sender_length = user_length = 0
    for place, event_id, envelope in pending:
        if place is not last or size > batch_bytes or group is None:
            if group is None or place.topic != group.topic or size > batch_bytes:
                if group is not None:
                    group.finish(stamped, epoch, total, number)
                group, size = _Group(place.topic), 0
                number = (stamped.moved.get(place.topic) or heads.get(place.topic, (0, 0)))[1]
            last, tail = place, place.tail
            sender_length, user_length = place.sender_length, place.user_length
            if place.user not in seals:
                seals[place.user] = sealer_of(place.user).seal
            live, headers, envelopes = group.turn_to(seals[place.user])
        total += 1
        number += 1
        length = len(envelope)
        header = pack(total, number, now_us, event_id, sender_length, user_length, length) + tail
        live += (header, envelope)
        headers.append(header)
        envelopes.append(envelope)
        size += length
        events.append((event_id, header[:16]))
    if group is not None:
        group.finish(stamped, epoch, total, number)
    stamped.stamps = [sequences for _, sequences in events]
    return stamped

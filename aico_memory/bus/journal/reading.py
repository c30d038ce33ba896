"""Reading a range of the journal: several topics merged in global order, as batches ready to send."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from aico_memory.bus.journal.journal import Journal
from aico_memory.bus.journal.layout import StoredRecord, erased_head, stored_records, unpack_group_head
from aico_memory.bus.journal.segment import Segment
from aico_memory.contracts.wire import batch_head
from aico_memory.errors import KeyDestroyed, WrongKey
from aico_memory.vault.sealer import Sealer


@dataclass(slots=True)
class Range:
    """One chunk of a range."""

    batches: list[bytes] = field(default_factory=list)
    # The global sequence to ask for next.
    next_global: int = 0
    at_head: bool = True
    # Records whose user's key is gone, delivered with an empty envelope; and records that do not open for another reason.
    erased: int = 0
    unreadable: int = 0


def read_range(
    journal: Journal,
    topics: Sequence[bytes],
    from_global: int,
    max_records: int,
    max_bytes: int,
    users: frozenset[str] | None = None,
) -> Range:
    """Records of these topics from a global sequence on, of these users only where given (None: all)."""
    found = Range(next_global=journal.head + 1)
    reader = _Opening(journal, found)
    wanted = None if users is None else frozenset(user.encode() for user in users)
    records = size = 0
    for segment in journal.segments:
        if segment.last_global < from_global:
            continue
        for value in _groups(segment, topics, from_global):
            group = unpack_group_head(value)
            parts: list[bytes] = []
            count = 0
            for record in stored_records(value, group):
                if record.global_sequence < from_global or (wanted is not None and record.user not in wanted):
                    continue
                if (records >= max_records or size >= max_bytes) and records:
                    found.next_global = record.global_sequence
                    found.at_head = False
                    break
                head, envelope = reader.open(record, group.topic)
                parts += (head, envelope)
                count += 1
                records += 1
                size += len(head) + len(envelope)
            if count:
                found.batches.append(b"".join((batch_head(group.topic, journal.epoch, count), *parts)))
            if not found.at_head:
                return found
    return found


def positions(journal: Journal, topics: Sequence[bytes], below: int) -> dict[bytes, int]:
    """Last topic sequence of each topic below a global sequence."""
    if below > journal.head:
        return {topic: journal.heads.get(topic, (0, 0))[1] for topic in topics}
    holding = [segment for segment in journal.segments if segment.state.first_global < below]
    segment = holding[-1] if holding else journal.segments[0]
    return {topic: segment.topic_position(topic, below)[1] for topic in topics}


def missing(journal: Journal, topics: Sequence[bytes], from_global: int) -> int:
    """How many records of these topics retention has removed at or after a global sequence."""
    trims = journal.meta.trims()
    removed = (one for topic in topics for one in trims.get(topic.decode(), ()))
    return sum(one.count for one in removed if one.last_global >= from_global)


def _groups(segment: Segment, topics: Sequence[bytes], from_global: int) -> Iterator[bytes]:
    """Values of the groups that reach into the range, in global order."""
    with segment.begin() as transaction:
        entries = [segment.index_from(transaction, topic, from_global) for topic in topics]
        for first, _, _ in heapq.merge(*entries):
            yield segment.group(transaction, first)


class _Opening:
    """Opens sealed records; one look-up of a key a user and chunk."""

    def __init__(self, journal: Journal, found: Range) -> None:
        self._journal = journal
        self._found = found
        self._sealers: dict[bytes, Sealer | None] = {}

    def open(self, record: StoredRecord, topic: bytes) -> tuple[bytes, bytes]:
        """Header and envelope; an empty envelope where it does not open."""
        try:
            sealer = self._sealers[record.user]
        except KeyError:
            sealer = self._sealers[record.user] = self._find(record.user.decode())
        if sealer is None:
            self._found.erased += 1
            return erased_head(record), b""
        try:
            return record.head, sealer.open(record.sealed, record.head + topic)
        except WrongKey:
            # A user who came back after being forgotten has a new key; the old records stay closed.
            self._found.unreadable += 1
            return erased_head(record), b""

    def _find(self, user: str) -> Sealer | None:
        try:
            return self._journal.opener(user)
        except KeyDestroyed:
            return None

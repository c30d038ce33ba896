"""Reading a range of the journal: several topics merged in global order, as batches ready to send."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from aico_memory.bus.journal.journal import Journal
from aico_memory.bus.journal.layout import StoredRun, erased_header, stored_runs, unpack_group_head
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
    if from_global <= journal.head:
        journal.flush()
    wanted = None if users is None else frozenset(user.encode() for user in users)
    chunk = _Chunk(journal, from_global, max_records, max_bytes)
    for segment in journal.segments:
        if segment.last_global < from_global:
            continue
        for value in _groups(segment, topics, from_global):
            chunk.take(value, wanted)
            if not chunk.found.at_head:
                return chunk.found
    return chunk.found


def positions(journal: Journal, topics: Sequence[bytes], below: int) -> dict[bytes, int]:
    """Last topic sequence of each topic below a global sequence."""
    if below > journal.head:
        return {topic: journal.heads.get(topic, (0, 0))[1] for topic in topics}
    journal.flush()
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


class _Chunk:
    """Collects records until it is full; one look-up of a key a user."""

    def __init__(self, journal: Journal, from_global: int, max_records: int, max_bytes: int) -> None:
        self.found = Range(next_global=journal.head + 1)
        self._journal = journal
        self._from_global = from_global
        self._records_left = max_records
        self._bytes_left = max_bytes
        self._sealers: dict[bytes, Sealer | None] = {}
        # At least one record goes into a chunk, however large it is.
        self._empty = True

    def take(self, value: bytes, wanted: frozenset[bytes] | None) -> None:
        """The records of one group that belong to the range; `found.at_head` is False once the chunk is full."""
        group = unpack_group_head(value)
        parts: list[bytes] = []
        count = 0
        for run in stored_runs(value, group):
            if (wanted is None or run.user in wanted) and self.found.at_head:
                count += self._take_run(run, group.topic, parts)
        if count:
            self.found.batches.append(b"".join((batch_head(group.topic, self._journal.epoch, count), *parts)))

    def _take_run(self, run: StoredRun, topic: bytes, parts: list[bytes]) -> int:
        data: bytes | None = None
        opened = erased = False
        count = at = 0
        for sequence, _, header, length in run.records():
            begin, at = at, at + length
            if sequence < self._from_global:
                continue
            if (self._records_left <= 0 or self._bytes_left <= 0) and not self._empty:
                self.found.next_global = sequence
                self.found.at_head = False
                return count
            if not opened:
                (data, erased), opened = self._open(run, topic), True
            if data is not None:
                parts += (header, data[begin:at])
                self._bytes_left -= length
            else:
                parts.append(erased_header(header))
                self.found.erased += erased
                self.found.unreadable += not erased
            self._empty = False
            self._bytes_left -= len(header)
            self._records_left -= 1
            count += 1
        return count

    def _open(self, run: StoredRun, topic: bytes) -> tuple[bytes | None, bool]:
        """The envelopes of a run, joined; None where they do not open, and whether that is for want of the key."""
        try:
            sealer = self._sealers[run.user]
        except KeyError:
            sealer = self._sealers[run.user] = self._find(run.user.decode())
        if sealer is None:
            return None, True
        try:
            return sealer.open(run.sealed, run.headers + topic), False
        except WrongKey:
            # A user who came back after being forgotten has a new key; the old records stay closed.
            return None, False

    def _find(self, user: str) -> Sealer | None:
        try:
            return self._journal.opener(user)
        except KeyDestroyed:
            return None

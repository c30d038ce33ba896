"""One retention segment of the journal: an LMDB environment in a file of its own.

Files of LMDB never shrink, so removing what has expired is removing segments.
Every commit is a full sync: weaker modes lost acknowledged messages in power
cuts.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lmdb

from aico_memory.bus.journal.layout import INDEX_VALUE, KEY, SEQUENCES, GroupHead, index_key, unpack_group_head
from aico_memory.errors import StoreCorrupt

FORMAT = 2
_STATE = b"state"
# Room in the map above the size at which a segment is closed: one drain and its trees.
_MAP_SLACK = 256 * 1024 * 1024
# A group's head with the longest topic.
_GROUP_HEAD_BYTES = 512
_ZEROS = bytes(1024 * 1024)
_AFTER = b"\xff" * 8
_VERSION_7 = bytes(range(0x70, 0x80))

# (first global sequence, value), (event id, sequences), (index key, index value)
Pairs = Sequence[tuple[bytes, bytes]]


@dataclass(slots=True)
class SegmentState:
    """What a segment knows about itself; written when it is made and when it is closed."""

    created_us: int
    first_global: int
    # Head of every topic before the first record of this segment: topic -> (global, topic sequence).
    heads: dict[str, tuple[int, int]] = field(default_factory=dict)
    target_bytes: int = 0
    closed: bool = False
    last_us: int = 0
    # Largest UUIDv7 in it, and whether it holds ids of other versions: spares look-ups of new ids.
    newest_id: bytes = b""
    other_ids: bool = False
    # What it holds of each topic: first and last global sequence, records, bytes.
    holdings: dict[str, list[int]] = field(default_factory=dict)

    def to_json(self) -> bytes:
        known: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__}
        return json.dumps({**known, "newest_id": self.newest_id.hex(), "format": FORMAT}).encode()

    @classmethod
    def from_json(cls, data: bytes) -> SegmentState:
        known = json.loads(data)
        if known.pop("format") != FORMAT:
            raise StoreCorrupt(f"A journal segment of another format than {FORMAT}")
        known["newest_id"] = bytes.fromhex(known["newest_id"])
        known["heads"] = {topic: (pair[0], pair[1]) for topic, pair in known["heads"].items()}
        return cls(**known)


class _Opened:
    """An open environment and the handles of its databases."""

    __slots__ = ("environment", "events", "groups", "index", "page")

    def __init__(self, environment: lmdb.Environment) -> None:
        self.environment = environment
        self.groups = environment.open_db(b"groups")
        self.events = environment.open_db(b"events")
        self.index = environment.open_db(b"topics")
        self.page = int(environment.stat()["psize"])


class Segment:
    """One thread uses it; a second process is kept out by the journal's lock.

    A closed segment is mapped only while it is read (`release`), so that the
    resident memory does not grow with the journal.
    """

    def __init__(self, path: Path, environment: lmdb.Environment, state: SegmentState) -> None:
        self.path = path
        self.state = state
        self._open: _Opened | None = _Opened(environment)
        self._size = 0
        self.last_global = self._find_last_global()

    @classmethod
    def prepare(cls, path: Path, size: int) -> None:
        """Make an empty segment file, zero-filled ahead and synced; a half-made one never has the final name."""
        temporary = path.with_suffix(".making")
        temporary.unlink(missing_ok=True)
        environment = _open(temporary, size)
        try:
            for name in (b"groups", b"events", b"topics"):
                environment.open_db(name)
        finally:
            environment.close()
        zero_fill(temporary, size)
        temporary.rename(path)
        sync_folder(path.parent)

    @classmethod
    def begin_from(cls, prepared: Path, path: Path, state: SegmentState) -> Segment:
        """Turn a prepared file into a segment."""
        environment = _open(prepared, state.target_bytes)
        try:
            with environment.begin(write=True) as transaction:
                transaction.put(_STATE, state.to_json())
        finally:
            environment.close()
        prepared.rename(path)
        sync_folder(path.parent)
        return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> Segment:
        """Open a segment; StoreCorrupt where the file is none."""
        try:
            environment = _open(path, path.stat().st_size)
            with environment.begin() as transaction:
                stored = transaction.get(_STATE)
            if stored is None:
                raise StoreCorrupt(f"The journal segment {path} has no state")
            segment = cls(path, environment, SegmentState.from_json(bytes(stored)))
            if segment.state.closed:
                segment.release()
            else:
                segment.recount()
        except (lmdb.Error, struct.error, ValueError, KeyError, TypeError) as error:
            raise StoreCorrupt(f"The journal segment {path} does not open: {error}") from error
        return segment

    def append(self, groups: Pairs, events: Pairs, index: Pairs) -> bool:
        """One transaction, synced. False, and nothing written, where an event id stands here already."""
        opened = self._now
        with opened.environment.begin(write=True, buffers=False) as transaction:
            consumed, added = transaction.cursor(db=opened.events).putmulti(events, overwrite=False)
            if added != consumed:
                transaction.abort()
                return False
            transaction.cursor(db=opened.groups).putmulti(groups, append=True)
            transaction.cursor(db=opened.index).putmulti(index)
        return True

    def recount(self) -> None:
        """Learn anew what a segment holds that was not closed: its state on disk is that of its beginning."""
        self.state.holdings.clear()
        self.note_ids([key for key, _ in self.events()])
        with self._now.environment.begin(db=self._now.groups, buffers=True) as transaction:
            for _, value in transaction.cursor():
                group = unpack_group_head(bytes(value[:_GROUP_HEAD_BYTES]))
                self._hold(group.topic, group.count, group.first_global, len(value))

    def note_groups(self, sizes: Sequence[tuple[bytes, int, int]], groups: Pairs) -> None:
        """Count what was appended: topic, count and first global sequence of each group."""
        for (topic, count, first), (_, value) in zip(sizes, groups, strict=True):
            self._hold(topic, count, first, len(value))

    def note_ids(self, ids: Sequence[bytes]) -> None:
        """Remember the newest UUIDv7 and whether there are others."""
        versions = b"".join(ids)[6::16]
        if not versions.translate(None, _VERSION_7):
            newest = max(ids, default=b"")
        else:
            self.state.other_ids = True
            newest = max((one for one in ids if one[6] >> 4 == 7), default=b"")
        self.state.newest_id = max(self.state.newest_id, newest)

    def may_hold(self, event_id: bytes) -> bool:
        """Whether a look-up of this id here can find anything."""
        return self.state.other_ids if event_id[6] >> 4 != 7 else event_id <= self.state.newest_id

    def find_events(self, ids: Sequence[bytes]) -> dict[bytes, bytes]:
        """Packed (global, topic) sequences of those ids that stand here."""
        with self._now.environment.begin(db=self._now.events) as transaction:
            found = ((one, transaction.get(one)) for one in ids)
            return {one: bytes(value) for one, value in found if value is not None}

    def events(self) -> Iterator[tuple[bytes, tuple[int, int]]]:
        """All event ids with their sequences."""
        with self._now.environment.begin(db=self._now.events) as transaction:
            for key, value in transaction.cursor():
                yield key, SEQUENCES.unpack(value)

    def begin(self) -> lmdb.Transaction:
        """A read transaction; keep it short."""
        return self._now.environment.begin()

    def group(self, transaction: lmdb.Transaction, first_global: int) -> bytes:
        """The value of a group."""
        value = transaction.get(KEY.pack(first_global), db=self._now.groups)
        if value is None:
            raise StoreCorrupt(f"The journal's index names the group {first_global}, which is missing")
        return bytes(value)

    def index_from(self, transaction: lmdb.Transaction, topic: bytes, from_global: int) -> Iterator[tuple[int, int, int]]:
        """(first global, first topic sequence, count) of the topic's groups that reach `from_global` or later."""
        cursor = transaction.cursor(db=self._now.index)
        prefix, key = topic + b"\0", index_key(topic, from_global)
        if not _stand_at(cursor, key):
            return
        first, (_, count) = _index_entry(cursor, prefix)
        # Where it stands before the key, the group there may reach into the range or not.
        if not (first and first + count > from_global) and not cursor.next():
            return
        while bytes(cursor.key()).startswith(prefix):
            first, (first_topic, count) = _index_entry(cursor, prefix)
            yield first, first_topic, count
            if not cursor.next():
                return

    def topic_position(self, topic: bytes, below: int) -> tuple[int, int]:
        """(global, topic) sequence of the topic's last record below a global sequence."""
        with self._now.environment.begin(db=self._now.index) as transaction:
            cursor = transaction.cursor()
            key = index_key(topic, below)
            if cursor.prev() if cursor.set_range(key) else cursor.last():
                first, (first_topic, count) = _index_entry(cursor, topic + b"\0")
                if first:
                    inside = min(count, below - first)
                    return first + inside - 1, first_topic + inside - 1
        return self.state.heads.get(topic.decode(), (0, 0))

    def heads(self) -> dict[bytes, tuple[int, int]]:
        """(global, topic) sequence of every topic at the end of this segment."""
        found = {topic.encode(): pair for topic, pair in self.state.heads.items()}
        for topic in self.topics():
            found[topic] = self.topic_position(topic, (1 << 64) - 1)
        return found

    def topics(self) -> list[bytes]:
        """Topics that have groups here."""
        found = []
        with self._now.environment.begin(db=self._now.index) as transaction:
            cursor = transaction.cursor()
            at = cursor.first()
            while at:
                topic = cursor.key()[:-9]
                found.append(topic)
                at = cursor.set_range(topic + b"\0" + _AFTER)
                while at and cursor.key()[:-9] == topic:
                    at = cursor.next()
        return found

    def groups(self) -> Iterator[tuple[GroupHead, bytes]]:
        """All groups in global order."""
        with self._now.environment.begin(db=self._now.groups) as transaction:
            for _, value in transaction.cursor():
                yield unpack_group_head(value), value

    def bytes_used(self) -> int:
        """Bytes of pages in use, free pages of the file included."""
        if self._open is not None:
            self._size = (int(self._open.environment.info()["last_pgno"]) + 1) * self._open.page
        return self._size

    def write_state(self, closed: bool, last_us: int) -> None:
        """Note the state durably."""
        self.state.closed = closed
        self.state.last_us = last_us
        with self._now.environment.begin(write=True) as transaction:
            transaction.put(_STATE, self.state.to_json())

    def release(self) -> None:
        """Unmap; the next use maps it again."""
        if self._open is not None:
            self.bytes_used()
            self._open.environment.close()
            self._open = None

    def remove(self) -> None:
        """Close and delete."""
        self.release()
        self.path.unlink(missing_ok=True)
        sync_folder(self.path.parent)

    @property
    def _now(self) -> _Opened:
        if self._open is None:
            self._open = _Opened(_open(self.path, self.path.stat().st_size))
        return self._open

    def _hold(self, topic: bytes, count: int, first_global: int, size: int) -> None:
        held = self.state.holdings.setdefault(topic.decode(), [first_global, 0, 0, 0])
        held[1] = first_global + count - 1
        held[2] += count
        held[3] += size

    def _find_last_global(self) -> int:
        with self._now.environment.begin(db=self._now.groups) as transaction:
            cursor = transaction.cursor()
            return unpack_group_head(cursor.value()).last_global if cursor.last() else self.state.first_global - 1


def _stand_at(cursor: Any, key: bytes) -> bool:
    """Put the cursor on this key, else on the last entry before it, else on the first; False in an empty database."""
    if cursor.set_range(key):
        return bool(cursor.key() == key or cursor.prev() or cursor.first())
    return bool(cursor.last())


def _index_entry(cursor: Any, prefix: bytes) -> tuple[int, tuple[int, int]]:
    """First global sequence (0 where the cursor stands at another topic) and the entry's value."""
    key = cursor.key()
    if not key.startswith(prefix) or len(key) != len(prefix) + 8:
        return 0, (0, 0)
    return KEY.unpack(key[-8:])[0], INDEX_VALUE.unpack(cursor.value())


def _open(path: Path, size: int) -> lmdb.Environment:
    # One process and one thread use it, so LMDB's own lock table is not needed.
    return lmdb.open(str(path), subdir=False, map_size=size * 2 + _MAP_SLACK, max_dbs=4, lock=False, mode=0o600)


def zero_fill(path: Path, size: int) -> None:
    """Write zeros behind the end of a file up to `size`, synced: later commits need not lengthen it."""
    with path.open("r+b") as file:
        at = file.seek(0, os.SEEK_END)
        while at < size:
            at += file.write(_ZEROS[: size - at])
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""The journal: one transaction a drain, idempotent by event id, sealed user by user."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import lmdb

from aico_memory.bus.journal.meta import JournalMeta
from aico_memory.bus.journal.segment import Segment, SegmentState
from aico_memory.bus.journal.stamping import Pending, Stamped, stamp
from aico_memory.bus.journal.waiting import Waiting
from aico_memory.clock import Clock
from aico_memory.errors import StorageFull, StoreCorrupt, StoreLocked
from aico_memory.log import get_logger
from aico_memory.settings.bus import BusSettings
from aico_memory.vault.master import Vault
from aico_memory.vault.sealer import Sealer

_HOUR_US = 3_600_000_000
_SPACE_CHECK_SECONDS = 0.5
_SIZE_CHECK_BYTES = 1024 * 1024
_STORE = "journal"
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Appended:
    """What became of one drain: per record its packed (global, topic) sequence, and the batches to deliver."""

    stamps: list[bytes]
    batches: list[bytes]
    duplicates: int


class Journal:
    """All segments of one home. One thread uses it; a second process is refused with StoreLocked."""

    def __init__(self, folder: Path, settings: BusSettings, vault: Vault, clock: Clock) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder = folder
        self._settings = settings
        self._vault = vault
        self._clock = clock
        self._store_sealer = vault.sealer(_STORE)
        self._lock = _exclusive(folder / "lock")
        self.meta = JournalMeta(folder / "meta.mdb")
        self.epoch = self.meta.epoch
        self.segments: list[Segment] = []
        # topic -> (last global sequence, last topic sequence)
        self.heads: dict[bytes, tuple[int, int]] = {}
        self.head = 0
        self._newest_older_id = b""
        self._other_older_ids = False
        self._since_size_check = 0
        self._space_checked = 0.0
        self._space_left = True
        self._preparing: threading.Thread | None = None
        self._failed = False
        self._waiting = Waiting(folder / "ahead.log", settings.ahead_bytes, settings.ahead_drain_bytes)
        # The heads as the segments have them.
        self._stored_head = 0
        self._stored_heads: dict[bytes, tuple[int, int]] = {}
        self._recover()

    @property
    def current(self) -> Segment:
        return self.segments[-1]

    def append(self, pending: Sequence[Pending]) -> Appended:
        """Make these records durable, each event id once; StorageFull where there is no room."""
        self._check_room()
        ids = [one[1] for one in pending]
        if self._all_new(ids):
            written = self._write(pending)
            if written is not None:
                return written
        return self._append_fresh(pending, ids)

    def flush(self) -> None:
        """Bring what waits in the log ahead into the segment; it is as durable before as after."""
        for _ in range(2):
            if not self._waiting or self._store(Stamped()):
                return
        raise StorageFull("A fresh journal segment has no room for what waits ahead of it")

    def sealer(self, user: str) -> Sealer:
        """The sealer of records of this user; the store's own where there is none."""
        return self._vault.users.sealer(user) if user else self._store_sealer

    def opener(self, user: str) -> Sealer:
        """Like `sealer`, but KeyDestroyed instead of a new key."""
        return self._vault.users.sealer(user, create=False) if user else self._store_sealer

    @property
    def full(self) -> bool:
        """Whether durable records are refused for want of room."""
        return self._failed or not self._space_left

    def size_bytes(self) -> int:
        """Bytes in use in all segments."""
        return sum(segment.bytes_used() for segment in self.segments)

    def rotate(self) -> None:
        """Close the current segment and begin a new one, unless it is empty."""
        self.flush()
        self._rotate()

    def _rotate(self) -> None:
        if self.current.last_global < self.current.state.first_global:
            return
        now = self._clock.now_us()
        target = min(self.current.state.target_bytes * 2, self._settings.segment_bytes)
        before = self.current
        self._begin_segment(now, target)
        self._close(before, now)
        self.note_segments()

    def note_segments(self) -> None:
        """Recompute what spares look-ups, after segments came or went."""
        older = self.segments[:-1]
        self._newest_older_id = max((segment.state.newest_id for segment in older), default=b"")
        self._other_older_ids = any(segment.state.other_ids for segment in older)

    def release_closed(self) -> None:
        """Unmap what is closed and was read since the last call."""
        for segment in self.segments[:-1]:
            segment.release()

    def rotation_due(self) -> bool:
        """Whether the current segment is old enough to be closed (size is looked at by every append)."""
        state = self.current.state
        aged = self._clock.now_us() - state.created_us > self._settings.segment_hours * _HOUR_US
        return aged and self.head >= state.first_global

    def close(self) -> None:
        if self._preparing is not None:
            self._preparing.join()
        try:
            self.flush()
        except StorageFull as error:
            # Nothing is lost: the next start reads it from the log ahead.
            _log.error("journal not flushed", error=str(error))
        for segment in self.segments:
            segment.release()
        self._waiting.close()
        self.meta.close()
        os.close(self._lock)

    def _all_new(self, ids: Sequence[bytes]) -> bool:
        """Whether no look-up is needed: none of these stands in an older segment or in the log ahead."""
        if self._waiting.holds_any(ids):
            return False
        return not (self._other_older_ids or min(ids) <= self._newest_older_id) or not self._find_older(ids)

    def _append_fresh(self, pending: Sequence[Pending], ids: Sequence[bytes]) -> Appended:
        """The slow path: some ids stand in the journal already, or come twice, or a segment was full."""
        for _ in range(2):
            known = self._find_older(ids) | self.current.find_events(ids) | self._waiting.find(ids)
            fresh: dict[bytes, Pending] = {}
            for one in pending:
                if one[1] not in known:
                    fresh.setdefault(one[1], one)
            written = self._write(list(fresh.values())) if fresh else Appended([], [], 0)
            if written is not None:
                known.update(zip(fresh, written.stamps, strict=True))
                return Appended([known[one] for one in ids], written.batches, len(pending) - len(fresh))
        raise StorageFull("A fresh journal segment has no room for one drain")

    def _write(self, pending: Sequence[Pending]) -> Appended | None:
        """Stamp, seal and make durable; None where an id stands in the current segment already, or twice in `pending`."""
        stamped = stamp(
            pending, self.head, self.heads, self.epoch, self._clock.now_us(), self._settings.batch_bytes, self.sealer
        )  # fmt: skip
        values = [value for _, value in stamped.groups]
        if self._waiting.takes(values):
            if not self._note_ahead(stamped, values):
                return None
        elif not self._store(stamped):
            return None
        self.head = stamped.total
        self.heads.update(stamped.moved)
        return Appended(stamped.stamps, stamped.batches, 0)

    def _note_ahead(self, stamped: Stamped, values: Sequence[bytes]) -> bool:
        """Append a small drain to the log ahead; False where an id stands in the current segment already, or comes twice."""
        ids = dict(stamped.events)
        if len(ids) < len(stamped.events):
            return False
        suspects = [one for one in ids if self.current.may_hold(one)]
        if suspects and self.current.find_events(suspects):
            return False
        try:
            self._waiting.note(stamped, values, ids, self.head + 1)
        except OSError as error:
            self._failed = True
            raise StorageFull(f"The journal cannot be written: {error}") from error
        return True

    def _store(self, stamped: Stamped) -> bool:
        """Commit a drain with all that waits; False where ids must be looked up first, or the segment was full."""
        batch = self._waiting.with_drain(stamped)
        if not self._commit(batch):
            return False
        self.current.note_ids([one[0] for one in batch.events])
        self.current.note_groups(batch.sizes, batch.groups)
        self.current.last_global = self._stored_head = batch.total
        self._stored_heads.update(batch.moved)
        self._waiting.settle()
        self._since_size_check += sum(len(value) for _, value in batch.groups)
        if self._since_size_check > _SIZE_CHECK_BYTES:
            self._check_size()
        return True

    def _commit(self, stamped: Stamped) -> bool:
        try:
            return self.current.append(stamped.groups, stamped.events, stamped.index)
        except lmdb.MapFullError:
            # What is to be written stands in no segment yet; ids of the full one are now those of an older one.
            self._rotate()
            return False
        except lmdb.Error as error:
            # What LMDB holds in memory is not trusted after a failed write: reopen before the next one.
            self._failed = True
            raise StorageFull(f"The journal cannot be written: {error}") from error

    def _check_room(self) -> None:
        if self._failed:
            self._reopen()
        now = monotonic()
        if now - self._space_checked > _SPACE_CHECK_SECONDS:
            self._space_checked = now
            status = os.statvfs(self._folder)
            self._space_left = status.f_bavail * status.f_frsize >= self._settings.min_free_bytes
            self._space_left = self._space_left and self.size_bytes() < self._settings.journal_max_bytes
        if not self._space_left:
            raise StorageFull("The bus journal has no room for durable messages")

    def _check_size(self) -> None:
        self._since_size_check = 0
        used, target = self.current.bytes_used(), self.current.state.target_bytes
        prepared = self._folder / "prepared.mdb"
        if used * 2 > target and self._preparing is None and not prepared.exists():
            size = min(target * 2, self._settings.segment_bytes)
            self._preparing = threading.Thread(target=_prepare, args=(prepared, size), name="journal-prepare", daemon=True)
            self._preparing.start()
        if used > target and (self._preparing is None or not self._preparing.is_alive()):
            try:
                self._rotate()
            except StorageFull as error:
                # The records at hand are safe; the segment grows on while its map has room.
                _log.error("journal segment not begun", error=str(error))

    def _find_older(self, ids: Sequence[bytes]) -> dict[bytes, bytes]:
        found: dict[bytes, bytes] = {}
        for segment in self.segments[:-1]:
            wanted = [one for one in ids if segment.may_hold(one)]
            if wanted:
                found.update(segment.find_events(wanted))
        return found

    def _close(self, segment: Segment, now_us: int) -> None:
        try:
            segment.write_state(closed=True, last_us=now_us)
        except lmdb.Error as error:
            # It is closed for good at the next start.
            _log.error("journal segment not closed", error=str(error))
        segment.release()

    def _begin_segment(self, now_us: int, target: int) -> None:
        if self._preparing is not None:
            self._preparing.join()
            self._preparing = None
        prepared = self._folder / "prepared.mdb"
        try:
            if not prepared.exists():
                Segment.prepare(prepared, target)
            heads = {topic.decode(): pair for topic, pair in self._stored_heads.items()}
            first = self._stored_head + 1
            state = SegmentState(now_us, first, heads, max(target, prepared.stat().st_size))
            self.segments.append(Segment.begin_from(prepared, self._folder / f"segment-{first:020d}.mdb", state))
        except (OSError, lmdb.Error) as error:
            raise StorageFull(f"No new journal segment can be made: {error}") from error

    def _recover(self) -> None:
        for leftover in self._folder.glob("*.making"):
            leftover.unlink()
        self.segments = [Segment.open(path) for path in sorted(self._folder.glob("segment-*.mdb"))]
        for segment in self.segments[:-1]:
            if not segment.state.closed:
                # It ended between beginning the next one and closing this.
                self._close(segment, self._clock.now_us())
        if not self.segments:
            self._begin_segment(self._clock.now_us(), self._settings.segment_first_bytes)
        self._load_heads()
        self.note_segments()
        self._recover_ahead()

    def _load_heads(self) -> None:
        self._stored_heads = self.current.heads()
        newest = max((pair[0] for pair in self._stored_heads.values()), default=0)
        self._stored_head = max(self.current.last_global, newest)
        self.heads = {**self._stored_heads, **self._waiting.heads}
        self.head = max(self._stored_head, self._waiting.head)

    def _recover_ahead(self) -> None:
        """Take in what was acknowledged and had not come into a segment."""
        found = self._waiting.recover(self._stored_head)
        if found:
            _log.info("journal recovered from the log ahead", records=found)
        self.flush()
        self._load_heads()
        self._waiting.resize()

    def _reopen(self) -> None:
        path = self.current.path
        self.current.release()
        try:
            self.segments[-1] = Segment.open(path)
        except StoreCorrupt as error:
            raise StorageFull(f"The journal cannot be opened again: {error.detail}") from error
        self._failed = False
        self._load_heads()
        self.flush()


def _prepare(path: Path, size: int) -> None:
    try:
        Segment.prepare(path, size)
    except (OSError, lmdb.Error) as error:
        # The loop makes it itself when it is needed, and then says what is wrong.
        _log.warning("journal segment not prepared", error=str(error))


def _exclusive(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise StoreLocked(f"Another broker owns the journal {path.parent}") from error
    return descriptor

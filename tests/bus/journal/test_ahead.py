"""The log ahead of the segments: what was acknowledged from it alone survives, and nothing else is taken for a record."""

from __future__ import annotations

import errno
import os

import lmdb
import pytest

from aico_memory.bus.journal import ahead, read_range
from aico_memory.bus.journal.ahead import PAGE, AheadLog
from aico_memory.errors import StorageFull, StoreCorrupt
from tests.bus.journal.conftest import MESSAGE, SMALL, STORED, TURN

ROOM = 256 * 1024


@pytest.fixture
def log(tmp_path):
    opened = AheadLog(tmp_path / "ahead.log", ROOM)
    yield opened
    opened.close()


def reopened(tmp_path) -> list[tuple[int, list[bytes]]]:
    other = AheadLog(tmp_path / "ahead.log", ROOM)
    try:
        return list(other.recover())
    finally:
        other.close()


def test_entries_come_back_in_order_and_each_begins_on_a_page_of_its_own(log, tmp_path) -> None:
    log.append([b"a" * 10, b"b" * PAGE], 1)
    log.append([b"c"], 3)
    assert log.used == 3 * PAGE
    assert reopened(tmp_path) == [(1, [b"a" * 10, b"b" * PAGE]), (3, [b"c"])]


def test_after_a_reset_older_entries_behind_the_new_ones_are_not_taken(log, tmp_path) -> None:
    for first in (1, 2, 3):
        log.append([b"old"], first)
    log.reset()
    log.append([b"new"], 4)
    assert reopened(tmp_path) == [(4, [b"new"])]


@pytest.mark.parametrize("place", [0, 5, 9, 20, 40])
def test_a_torn_entry_ends_the_log(log, tmp_path, place) -> None:
    log.append([b"whole"], 1)
    log.append([b"torn" * 10], 2)
    log.append([b"never reached"], 3)
    with (tmp_path / "ahead.log").open("r+b") as file:
        file.seek(PAGE + place)
        byte = file.read(1)
        file.seek(PAGE + place)
        file.write(bytes([byte[0] ^ 1]))
    assert reopened(tmp_path) == [(1, [b"whole"])]


def test_it_says_when_it_is_full(log) -> None:
    first = 1
    while log.has_room([b"x" * 1000]):
        log.append([b"x" * 1000], first)
        first += 1
    assert first - 1 == ROOM // PAGE
    log.reset()
    assert log.has_room([b"x" * 1000])


def test_every_append_is_synced_before_it_returns(log, monkeypatch) -> None:
    synced = []
    monkeypatch.setattr(ahead, "sync_data", synced.append)
    log.append([b"a"], 1)
    assert len(synced) == 1


def test_small_drains_survive_a_crash_without_ever_coming_into_a_segment(disk, record, read) -> None:
    wanted = [record(topic, user, content) for topic, user, content in (
        (MESSAGE, "alice", b"one"), (TURN, "bob", b"two"), (MESSAGE, "", b"three"),
    )]  # fmt: skip
    for one in wanted:
        disk.journal.append([one])
    assert disk.journal.current.last_global == 0
    disk.crash()
    found = read(disk.journal, MESSAGE, TURN)
    assert [(one.event_id, one.envelope) for one in found] == [(one[1], one[2]) for one in wanted]
    assert disk.journal.heads == {MESSAGE.encode(): (3, 2), TURN.encode(): (2, 1)}


def test_an_event_that_waits_is_not_taken_twice_also_after_a_crash(disk, record) -> None:
    one, two = record(), record()
    first = disk.journal.append([one])
    again = disk.journal.append([one, two])
    assert (again.duplicates, again.stamps[0]) == (1, first.stamps[0])
    disk.crash()
    after = disk.journal.append([two, one])
    assert (after.duplicates, after.stamps) == (2, again.stamps[::-1])
    assert disk.journal.head == 2


def test_an_event_of_the_segment_or_twice_in_one_drain_is_taken_once(disk, record) -> None:
    one, two = record(), record()
    disk.journal.append([one])
    disk.journal.flush()
    assert disk.journal.append([one]).duplicates == 1
    assert disk.journal.append([two, two]).duplicates == 1
    assert disk.journal.head == 2


def test_a_large_drain_takes_what_waits_with_it_in_order(disk, record, read) -> None:
    small, large = [record(content=b"s") for _ in range(3)], [record(content=b"l" * 50_000) for _ in range(3)]
    for one in small:
        disk.journal.append([one])
    disk.journal.append(large)
    assert disk.journal.current.last_global == 6
    disk.crash()
    assert [one.event_id for one in read(disk.journal, MESSAGE)] == [one[1] for one in (*small, *large)]


def test_a_full_log_is_emptied_into_the_segment(disk, record, read) -> None:
    disk.reopen(SMALL.model_copy(update={"ahead_bytes": ROOM}))
    wanted = [record() for _ in range(ROOM // PAGE + 5)]
    for one in wanted:
        disk.journal.append([one])
    assert disk.journal.current.last_global == ROOM // PAGE + 1
    disk.crash()
    assert [one.event_id for one in read(disk.journal, MESSAGE)] == [one[1] for one in wanted]


def test_a_range_and_positions_hold_what_waits(disk, record) -> None:
    disk.journal.append([record(MESSAGE), record(STORED)])
    found = read_range(disk.journal, [STORED.encode()], 1, 10, 1 << 20)
    assert (len(found.batches), found.next_global) == (1, 3)


def test_a_segment_that_is_full_when_it_is_to_take_what_waits_is_followed_by_a_new_one(disk, record, read, monkeypatch) -> None:
    wanted = [record(MESSAGE), record(TURN), record(MESSAGE)]
    disk.journal.append(wanted[:1])
    disk.journal.flush()
    disk.journal.append(wanted[1:])
    full = disk.journal.current
    monkeypatch.setattr(full, "append", lambda *_: (_ for _ in ()).throw(lmdb.MapFullError("map full")))
    disk.journal.flush()
    assert disk.journal.current is not full
    assert disk.journal.current.state.heads == {MESSAGE: (1, 1)}
    assert disk.journal.current.state.first_global == 2
    disk.crash()
    assert [one.event_id for one in read(disk.journal, MESSAGE, TURN)] == [one[1] for one in wanted]


def test_a_segment_that_cannot_be_written_keeps_what_waits(disk, record, read, monkeypatch) -> None:
    one, two = record(), record()
    disk.journal.append([one])
    monkeypatch.setattr(disk.journal.current, "append", lambda *_: (_ for _ in ()).throw(lmdb.DiskError("no space")))
    with pytest.raises(StorageFull):
        disk.journal.flush()
    disk.journal.append([two])
    assert [each.event_id for each in read(disk.journal, MESSAGE)] == [one[1], two[1]]


def test_closing_with_a_segment_that_cannot_be_written_loses_nothing(disk, record, read, monkeypatch) -> None:
    one = record()
    disk.journal.append([one])
    monkeypatch.setattr(disk.journal.current, "append", lambda *_: (_ for _ in ()).throw(lmdb.DiskError("no space")))
    disk.close()
    assert [each.event_id for each in read(disk.journal, MESSAGE)] == [one[1]]


def test_a_log_that_cannot_be_written_refuses_and_the_next_drain_stands(disk, record, read, monkeypatch) -> None:
    one, two = record(), record()
    disk.journal.append([one])

    def refuse(*_: object) -> int:
        raise OSError(errno.EIO, "input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", refuse)
        with pytest.raises(StorageFull):
            disk.journal.append([two])
    disk.journal.append([two])
    disk.crash()
    assert [each.event_id for each in read(disk.journal, MESSAGE)] == [one[1], two[1]]


def test_segments_that_are_older_than_the_log_are_said(disk, record) -> None:
    disk.journal.append([record()])
    path = disk.journal.current.path
    disk.close()
    before = path.read_bytes()
    disk.journal.append([record(content=b"x" * 100_000)])
    disk.journal.append([record()])
    disk.crash()
    path.write_bytes(before)
    with pytest.raises(StoreCorrupt, match="segments end at 1"):
        assert disk.journal


def test_another_size_is_taken_at_the_next_start(disk, record, read) -> None:
    one = record()
    disk.journal.append([one])
    disk.crash()
    disk.settings = SMALL.model_copy(update={"ahead_bytes": ROOM})
    assert [each.event_id for each in read(disk.journal, MESSAGE)] == [one[1]]
    assert (disk.home.journal / "ahead.log").stat().st_size == ROOM

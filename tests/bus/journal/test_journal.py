"""The journal: once, in order, sealed, there again after a restart."""

from __future__ import annotations

import resource
import struct
import uuid
from datetime import timedelta

import lmdb
import pytest

from aico_memory.bus.journal import Journal, missing, positions, read_range
from aico_memory.contracts.wire import unpack_batch
from aico_memory.errors import StorageFull, StoreCorrupt, StoreLocked
from aico_memory.ids import new_id
from aico_memory.settings.bus import BusSettings
from tests.bus.journal.conftest import SMALL

MESSAGE = "memory/working/message/v1/"
TURN = "memory/working/turn/v1/"
STORED = "memory/working/stored/v1/"

# Every drain goes into the segment at once.
DIRECT = SMALL.model_copy(update={"ahead_drain_bytes": 0})


def stamps(appended) -> list[tuple[int, int]]:
    return [struct.unpack("<QQ", stamp) for stamp in appended.stamps]


def test_sequences_are_contiguous_per_topic_and_global_in_order_of_arrival(disk, record) -> None:
    first = disk.journal.append([record(), record(TURN), record(), record()])
    second = disk.journal.append([record(TURN)])
    assert stamps(first) == [(1, 1), (2, 1), (3, 2), (4, 3)]
    assert stamps(second) == [(5, 2)]


def test_what_is_delivered_live_is_what_is_replayed(disk, record) -> None:
    live = disk.journal.append([record(content=b"one"), record(content=b"two"), record(TURN, "bob")]).batches
    replayed = read_range(disk.journal, [MESSAGE.encode(), TURN.encode()], 1, 100, 1 << 20)
    assert replayed.batches == live
    assert replayed.next_global == 4
    assert replayed.at_head


def test_a_range_merges_topics_in_global_order_over_segments(disk, record, read) -> None:
    for number in range(30):
        disk.journal.append([record(TURN if number % 3 else MESSAGE), record(STORED if number % 2 else TURN)])
        if number % 7 == 0:
            disk.journal.rotate()
    for chunk in (1, 3, 1000):
        found = read(disk.journal, MESSAGE, TURN, STORED, chunk=chunk)
        assert [one.global_sequence for one in found] == list(range(1, 61))
    turns = read(disk.journal, TURN, from_global=20, chunk=2)
    assert [one.topic_sequence for one in turns] == list(range(turns[0].topic_sequence, turns[0].topic_sequence + len(turns)))
    assert all(one.global_sequence >= 20 for one in turns)


def test_a_range_begins_inside_a_group(disk, record, read) -> None:
    disk.journal.append([record() for _ in range(10)])
    assert [one.global_sequence for one in read(disk.journal, MESSAGE, from_global=4, chunk=3)] == [4, 5, 6, 7, 8, 9, 10]


def test_positions_name_the_last_topic_sequence_below_any_point(disk, record) -> None:
    history = []
    for number in range(24):
        topic = (MESSAGE, TURN, STORED)[number % 3 if number % 5 else 0]
        history.append(topic)
        disk.journal.append([record(topic)])
        if number in (7, 15):
            disk.journal.rotate()
    for below in range(1, 27):
        found = positions(disk.journal, [MESSAGE.encode(), TURN.encode(), STORED.encode()], below)
        for topic in (MESSAGE, TURN, STORED):
            assert found[topic.encode()] == history[: below - 1].count(topic), (topic, below)


def test_an_event_id_has_one_entry_also_within_one_drain(disk, record, read) -> None:
    twice = record()
    assert stamps(disk.journal.append([twice, record(), twice])) == [(1, 1), (2, 2), (1, 1)]
    again = disk.journal.append([record(), twice])
    assert stamps(again) == [(3, 3), (1, 1)]
    assert again.duplicates == 1
    assert len(read(disk.journal, MESSAGE)) == 3


@pytest.mark.parametrize("make_id", [new_id, uuid.uuid4, lambda: new_id(1), lambda: uuid.UUID(int=(1 << 128) - 1)])
def test_an_event_id_is_recognised_over_segments_and_a_restart(disk, record, make_id) -> None:
    old = record(event_id=make_id())
    disk.journal.append([record(), old])
    disk.journal.rotate()
    disk.journal.append([record(), record(event_id=uuid.uuid4())])
    disk.journal.rotate()
    assert stamps(disk.journal.append([old])) == [(2, 2)]
    disk.reopen()
    assert stamps(disk.journal.append([record(), old])) == [(5, 5), (2, 2)]


def test_an_id_from_the_far_future_in_an_old_segment_does_not_hide_duplicates(disk, record) -> None:
    far = record(event_id=new_id(4_000_000_000_000_000))
    near = record()
    disk.journal.append([far, near])
    disk.journal.rotate()
    assert stamps(disk.journal.append([near, far])) == [(2, 2), (1, 1)]


def test_heads_and_epoch_survive_a_restart(disk, record) -> None:
    disk.journal.append([record(), record(TURN)])
    disk.journal.rotate()
    disk.journal.append([record(TURN)])
    epoch, heads, head = disk.journal.epoch, dict(disk.journal.heads), disk.journal.head
    again = disk.reopen()
    assert (again.epoch, again.heads, again.head) == (epoch, heads, head)
    assert epoch > 0


def test_a_topic_without_records_in_the_newest_segments_keeps_its_sequence(disk, record) -> None:
    disk.journal.append([record(TURN)])
    for _ in range(3):
        disk.journal.rotate()
        disk.journal.append([record()])
    assert stamps(disk.reopen().append([record(TURN)])) == [(5, 2)]


def test_nothing_that_was_said_stands_in_a_file_in_the_clear(disk, record) -> None:
    disk.journal.append([record(content=b"the secret of alice " * 20), record(user="", content=b"a secret of nobody " * 20)])
    disk.close()
    for path in disk.home.root.rglob("*"):
        if path.is_file():
            assert b"secret" not in path.read_bytes(), path


def test_a_record_whose_users_key_was_destroyed_keeps_its_place_with_an_empty_envelope(disk, record, read) -> None:
    disk.journal.append([record(user="alice"), record(user="bob"), record(user="alice")])
    disk.vault.users.destroy("alice")
    found = read(disk.journal, MESSAGE)
    assert [(one.topic_sequence, one.user, one.erased) for one in found] == [
        (1, "alice", True), (2, "bob", False), (3, "alice", True),
    ]  # fmt: skip
    part = read_range(disk.journal, [MESSAGE.encode()], 1, 100, 1 << 20)
    assert (part.erased, part.unreadable) == (2, 0)


def test_a_user_who_comes_back_after_being_forgotten_gets_nothing_old_back(disk, record, read) -> None:
    disk.journal.append([record(content=b"before")])
    disk.vault.users.destroy("alice")
    disk.journal.append([record(content=b"after")])
    assert [one.envelope for one in read(disk.journal, MESSAGE)] == [b"", b"after"]


def test_a_record_edited_on_disk_does_not_open(disk, record, read) -> None:
    disk.journal.append([record(user="alice", content=b"x" * 100)])
    path = disk.journal.current.path
    disk.close()
    content = path.read_bytes()
    # The clear header names the sender; the seal covers it.
    assert content.count(b"defaultalice") >= 1
    path.write_bytes(content.replace(b"defaultalice", b"operataalice"))
    assert [one.erased for one in read(disk.journal, MESSAGE)] == [True]


def test_a_range_of_some_users_holds_only_their_records(disk, record) -> None:
    disk.journal.append([record(user="alice"), record(user="bob"), record(user="carol")])
    part = read_range(disk.journal, [MESSAGE.encode()], 1, 100, 1 << 20, frozenset(("alice", "carol")))
    assert [one.user for batch in part.batches for one in unpack_batch(batch)[2]] == ["alice", "carol"]


def test_a_second_process_is_refused(disk) -> None:
    assert disk.journal.head == 0
    with pytest.raises(StoreLocked):
        Journal(disk.home.journal, disk.settings, disk.vault, disk.clock)


def test_segments_are_closed_by_size_and_the_next_is_zero_filled(disk, record, read) -> None:
    disk.settings = BusSettings(segment_first_bytes=1 << 20, segment_bytes=2 << 20, min_free_bytes=0)
    drains = 0
    # The next segment is made ready meanwhile, which takes as long as the disk takes.
    while len(disk.journal.segments) < 3:
        disk.journal.append([record(content=b"x" * 60_000) for _ in range(2)])
        drains += 1
        assert drains < 2000
    assert all(segment.path.stat().st_size >= 1 << 20 for segment in disk.journal.segments)
    assert len(read(disk.reopen(), MESSAGE)) == 2 * drains


def test_a_segment_is_closed_by_age(disk, record) -> None:
    disk.journal.append([record()])
    assert not disk.journal.rotation_due()
    disk.clock.advance(timedelta(hours=25))
    assert disk.journal.rotation_due()


def test_a_full_segment_map_begins_a_new_segment_and_knows_its_ids(disk, record, monkeypatch) -> None:
    first, second = record(), record()
    disk.reopen(DIRECT)
    disk.journal.append([first])
    full = disk.journal.current
    monkeypatch.setattr(full, "append", lambda *_: (_ for _ in ()).throw(lmdb.MapFullError("map full")))
    assert stamps(disk.journal.append([second, first])) == [(2, 2), (1, 1)]
    assert disk.journal.current is not full


def test_a_full_disk_refuses_and_goes_on_when_there_is_room_again(disk, record, read, monkeypatch) -> None:
    disk.reopen(DIRECT)
    disk.journal.append([record()])
    current = disk.journal.current
    monkeypatch.setattr(current, "append", lambda *_: (_ for _ in ()).throw(lmdb.DiskError("no space left")))
    with pytest.raises(StorageFull):
        disk.journal.append([record()])
    # The segment is opened anew, since memory and disk may differ after a failed commit.
    assert stamps(disk.journal.append([record()])) == [(2, 2)]
    assert disk.journal.current is not current
    assert len(read(disk.journal, MESSAGE)) == 2


def test_writes_that_the_system_really_refuses_lose_nothing_that_was_acknowledged(disk, record, read) -> None:
    disk.reopen(BusSettings(segment_first_bytes=1 << 20, segment_bytes=4 << 20, min_free_bytes=0))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    acknowledged = 0
    resource.setrlimit(resource.RLIMIT_FSIZE, (3 << 19, hard))
    try:
        with pytest.raises(StorageFull):
            while acknowledged < 1000:
                disk.journal.append([record(content=b"x" * 50_000)])
                acknowledged += 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert 10 < acknowledged < 1000
    assert stamps(disk.journal.append([record()])) == [(acknowledged + 1, acknowledged + 1)]
    assert len(read(disk.reopen(), MESSAGE)) == acknowledged + 1


def test_too_little_free_space_refuses_before_anything_is_written(disk, record, read) -> None:
    disk.journal.append([record()])
    disk.reopen(BusSettings(segment_first_bytes=1 << 20, min_free_bytes=1 << 60))
    with pytest.raises(StorageFull):
        disk.journal.append([record()])
    assert len(read(disk.journal, MESSAGE)) == 1


def test_half_made_files_are_swept_at_start(disk, record) -> None:
    disk.journal.append([record()])
    disk.close()
    leftover = disk.home.journal / "prepared.making"
    leftover.write_bytes(b"half")
    assert disk.journal.head == 1
    assert not leftover.exists()


def test_a_crash_between_two_segments_closes_the_older_one_at_start(disk, record) -> None:
    disk.journal.append([record()])
    older = disk.journal.current
    disk.journal.rotate()
    older.write_state(closed=False, last_us=0)
    again = disk.reopen()
    assert again.segments[0].state.closed
    assert again.segments[0].state.last_us == disk.clock.now_us()


def test_a_file_that_is_no_segment_is_said(disk, record) -> None:
    disk.journal.append([record()])
    path = disk.journal.current.path
    disk.close()
    path.write_bytes(b"junk" * 4096)
    with pytest.raises(StoreCorrupt, match=path.name):
        Journal(disk.home.journal, disk.settings, disk.vault, disk.clock)


def test_nothing_is_missing_where_nothing_was_removed(disk, record) -> None:
    disk.journal.append([record()])
    assert missing(disk.journal, [MESSAGE.encode()], 1) == 0

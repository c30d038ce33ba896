"""Retention: by age and size per topic, never what a consumer needs, unless the hard limit says so."""

from __future__ import annotations

from datetime import timedelta

from aico_memory.bus.journal import ConsumerEntry, Journal, missing
from aico_memory.bus.journal.retention import Retention
from aico_memory.settings.bus import BusSettings

MESSAGE = "memory/working/message/v1/"
STORED = "memory/working/stored/v1/"
AUDIT = "memory/bus/audit/v1/"
SETTINGS = BusSettings(
    segment_first_bytes=1 << 20, segment_bytes=1 << 20, min_free_bytes=0, dedup_hours=24, retention_hours=100,
    retention_hard_hours=500,
)  # fmt: skip


def run_often(
    journal: Journal, clock, settings: BusSettings = SETTINGS, consumers: tuple[ConsumerEntry, ...] = ()
) -> Retention:
    retention = Retention(journal, settings, clock)
    for _ in range(10):
        retention.run(consumers)
    return retention


def test_records_go_when_their_topic_says_so(disk, record, read) -> None:
    disk.reopen(SETTINGS)
    disk.journal.append([record(MESSAGE), record(AUDIT)])
    disk.journal.rotate()
    disk.clock.advance(timedelta(hours=99))
    run_often(disk.journal, disk.clock)
    assert len(read(disk.journal, MESSAGE)) == 1
    disk.clock.advance(timedelta(hours=2))
    assert run_often(disk.journal, disk.clock).removed == 1
    assert read(disk.journal, MESSAGE) == []
    # Audit entries are kept for a year: the segment was rewritten without the rest.
    assert [one.global_sequence for one in read(disk.journal, AUDIT)] == [2]
    assert missing(disk.journal, [MESSAGE.encode()], 1) == 1
    assert missing(disk.journal, [MESSAGE.encode()], 2) == 0
    assert missing(disk.journal, [AUDIT.encode()], 1) == 0


def test_sequences_go_on_after_everything_was_removed(disk, record, read) -> None:
    disk.reopen(SETTINGS)
    for _ in range(3):
        disk.journal.append([record(MESSAGE)])
    disk.clock.advance(timedelta(hours=25))
    run_often(disk.journal, disk.clock)
    disk.clock.advance(timedelta(hours=200))
    run_often(disk.journal, disk.clock)
    assert read(disk.journal, MESSAGE) == []
    assert disk.journal.heads[MESSAGE.encode()] == (3, 3)
    disk.reopen()
    disk.journal.append([record(MESSAGE)])
    assert [(one.global_sequence, one.topic_sequence) for one in read(disk.journal, MESSAGE)] == [(4, 4)]
    assert missing(disk.journal, [MESSAGE.encode()], 1) == 3


def test_nothing_goes_that_the_slowest_consumer_has_not_applied(disk, record, read) -> None:
    disk.reopen(SETTINGS)
    disk.journal.append([record(MESSAGE), record(MESSAGE)])
    disk.journal.rotate()
    disk.clock.advance(timedelta(hours=200))
    fast = ConsumerEntry("fast", [MESSAGE], applied=2)
    slow = ConsumerEntry("slow", [MESSAGE], applied=1)
    held = run_often(disk.journal, disk.clock, consumers=(fast, slow))
    assert len(read(disk.journal, MESSAGE)) == 2
    assert [(one["alarm"], one["consumer"]) for one in held.alarms()] == [("consumer_holds_retention", "slow")]
    held.run((fast, ConsumerEntry("slow", [MESSAGE], applied=2)))
    assert held.alarms() == [], "the alarm ends with its cause"


def test_a_consumer_of_other_topics_holds_nothing_back(disk, record) -> None:
    disk.reopen(SETTINGS)
    disk.journal.append([record(MESSAGE), record(MESSAGE)])
    disk.journal.rotate()
    disk.clock.advance(timedelta(hours=200))
    fast = ConsumerEntry("fast", [MESSAGE], applied=2)
    other = ConsumerEntry("slow", [STORED], applied=0)
    assert run_often(disk.journal, disk.clock, consumers=(fast, other)).removed == 2


def test_what_a_segment_holds_is_known_after_a_crash(disk, record) -> None:
    disk.reopen(SETTINGS)
    disk.journal.append([record(MESSAGE, content=b"x" * 100), record(STORED), record(MESSAGE)])
    disk.journal.flush()
    held = {topic: list(figures) for topic, figures in disk.journal.current.state.holdings.items()}
    assert {topic: figures[:3] for topic, figures in held.items()} == {MESSAGE: [1, 3, 2], STORED: [2, 2, 1]}
    # The state on disk is that of the segment's beginning: nothing was closed.
    assert disk.reopen().current.state.holdings == held


def test_beyond_the_hard_age_a_slow_consumer_loses_and_it_is_counted_and_alarmed(disk, record, read) -> None:
    disk.reopen(SETTINGS)
    disk.journal.append([record(MESSAGE), record(MESSAGE)])
    disk.journal.rotate()
    disk.clock.advance(timedelta(hours=501))
    slow = ConsumerEntry("slow", [MESSAGE], applied=0)
    retention = run_often(disk.journal, disk.clock, consumers=(slow,))
    assert read(disk.journal, MESSAGE) == []
    assert (retention.removed, retention.removed_unread) == (2, 2)
    assert {"alarm": "removed_before_applied", "consumer": "slow", "topic": MESSAGE, "records": 2} in retention.alarms()
    assert missing(disk.journal, [MESSAGE.encode()], 1) == 2


def test_a_topic_above_its_size_loses_its_oldest_segments(disk, record, read) -> None:
    settings = SETTINGS.model_copy(update={"retention_bytes": 1 << 20})
    disk.reopen(settings)
    for _ in range(6):
        disk.journal.append([record(MESSAGE, content=b"x" * 200_000) for _ in range(2)])
        disk.journal.append([record(STORED, content=b"small")])
        disk.journal.rotate()
    disk.clock.advance(timedelta(hours=25))
    run_often(disk.journal, disk.clock, settings)
    left = read(disk.journal, MESSAGE)
    assert 0 < len(left) < 12
    assert left[-1].topic_sequence == 12
    # The small topic shares the segments and is not too large: every record of it stands.
    assert len(read(disk.journal, STORED)) == 6


def test_no_event_id_is_forgotten_within_a_day(disk, record) -> None:
    settings = SETTINGS.model_copy(update={"retention_hours": 1.0, "retention_hard_bytes": 1 << 20})
    disk.reopen(settings)
    old = record(MESSAGE, content=b"x" * 2_000_000)
    disk.journal.append([old])
    disk.journal.rotate()
    disk.clock.advance(timedelta(hours=23))
    run_often(disk.journal, disk.clock, settings)
    assert disk.journal.append([old]).duplicates == 1
    disk.clock.advance(timedelta(hours=2))
    assert run_often(disk.journal, disk.clock, settings).removed == 1


def test_a_thinned_segment_still_knows_the_event_ids_it_keeps(disk, record) -> None:
    disk.reopen(SETTINGS)
    kept = record(AUDIT)
    disk.journal.append([record(MESSAGE, content=b"x" * 1000), kept])
    disk.journal.rotate()
    disk.clock.advance(timedelta(hours=101))
    run_often(disk.journal, disk.clock)
    disk.reopen()
    assert disk.journal.append([kept]).duplicates == 1

"""Merging live and replayed records: once each and in global order, whatever the live delivery loses."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aico_memory.bus.consumer_merge import ConsumerMerge, Mark, RangeAnswer
from aico_memory.contracts.wire import StampedRecord
from aico_memory.errors import JournalLost

MINE = ("a/", "b/")
TOPICS = (*MINE, "other/")
EPOCH = 3


class Journal:
    """A broker's journal and its live delivery, frame by frame."""

    def __init__(self) -> None:
        self.records: list[StampedRecord] = []
        self.sequences = dict.fromkeys(TOPICS, 0)

    def drain(self, topics: list[str]) -> list[StampedRecord | Mark]:
        """Append one drain; the live frames that follow it, the mark behind them."""
        previous = len(self.records)
        fresh: list[StampedRecord | Mark] = []
        for topic in topics:
            self.sequences[topic] += 1
            number = len(self.records) + 1
            record = StampedRecord(topic, number.to_bytes(16, "big"), "u", b"e", "s", number, self.sequences[topic], 1)
            self.records.append(record)
            if topic in MINE:
                fresh.append(record)
        changed = {topic: self.sequences[topic] for topic in topics}
        return [*fresh, Mark(EPOCH, len(self.records), previous, changed)]

    def beacon(self) -> Mark:
        return Mark(EPOCH, len(self.records), 0, dict(self.sequences))

    def range(self, start: int, most: int) -> RangeAnswer:
        mine = [record for record in self.records[start - 1 :] if record.topic in MINE]
        cut = mine[:most]
        at_head = len(cut) == len(mine)
        following = len(self.records) + 1 if at_head else cut[-1].global_sequence + 1
        positions = {
            topic: max((r.topic_sequence for r in self.records[: following - 1] if r.topic == topic), default=0)
            for topic in MINE
        }
        return RangeAnswer(EPOCH, cut, following, at_head, positions)


def feed(merge: ConsumerMerge, item: StampedRecord | Mark) -> None:
    if isinstance(item, Mark):
        merge.mark(item)
    else:
        merge.records(EPOCH, [item])


drains = st.lists(st.sampled_from(TOPICS), min_size=1, max_size=4)
steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("drain"),
            drains,
            st.lists(st.sampled_from(["pass", "pass", "pass", "lose", "twice"]), min_size=5, max_size=5),
        ),
        st.tuples(st.just("ask")),
        st.tuples(st.just("answer")),
        st.tuples(st.just("late frames")),
        st.tuples(st.just("beacon")),
        st.tuples(st.just("reconnect")),
        st.tuples(st.just("take"), st.integers(1, 4)),
    ),
    max_size=60,
)


@settings(max_examples=500, deadline=None)
@given(steps, st.integers(0, 6), st.integers(4, 12), st.booleans())
def test_every_record_comes_once_and_in_global_order(plan: list, before: int, bound: int, hold_back: bool) -> None:
    journal = Journal()
    for number in range(before):
        journal.drain([TOPICS[number % 3]])
    merge = ConsumerMerge(MINE, 0, 0, bound, 100_000)
    received: list[int] = []
    asked: RangeAnswer | None = None
    late: list[StampedRecord | Mark] = []

    def take(limit: int) -> None:
        received.extend(record.global_sequence for record in merge.take(limit))

    for step in plan:
        if step[0] == "drain":
            for item, fate in zip(journal.drain(step[1]), step[2], strict=False):
                if fate == "lose":
                    continue
                for _ in range(2 if fate == "twice" else 1):
                    # Live frames may arrive long after the range that holds them too.
                    late.append(item)
                if not hold_back:
                    while late:
                        feed(merge, late.pop(0))
        elif step[0] == "late frames":
            while late:
                feed(merge, late.pop(0))
        elif step[0] == "ask":
            wanted = merge.wanted_range()
            if wanted is not None:
                merge.asked()
                asked = journal.range(*wanted)
        elif step[0] == "answer" and asked is not None:
            merge.range(asked)
            asked = None
        elif step[0] == "beacon":
            late.append(journal.beacon())
        elif step[0] == "reconnect":
            merge.disconnected()
            asked = None
            late.clear()
        elif step[0] == "take":
            take(step[1])
        assert len(merge.ready) <= bound + 4
    while late:
        feed(merge, late.pop(0))
    merge.disconnected()
    for _ in range(200):
        take(100)
        wanted = merge.wanted_range()
        if wanted is None:
            break
        merge.asked()
        merge.range(journal.range(*wanted))
    take(100)
    assert received == [record.global_sequence for record in journal.records if record.topic in MINE]
    assert merge.live


def live_merge(journal: Journal, bound: int = 100) -> ConsumerMerge:
    merge = ConsumerMerge(MINE, 0, 0, bound, 100_000)
    merge.asked()
    merge.range(journal.range(1, bound))
    assert merge.live
    return merge


def test_a_record_is_held_until_a_mark_vouches_for_it() -> None:
    journal = Journal()
    merge = live_merge(journal)
    record, mark = journal.drain(["a/"])
    feed(merge, record)
    assert merge.take(10) == []
    feed(merge, mark)
    assert merge.take(10) == [record]


def test_a_loss_on_one_topic_holds_back_later_records_of_another() -> None:
    journal = Journal()
    merge = live_merge(journal)
    journal.drain(["a/"])
    for item in journal.drain(["b/"]):
        feed(merge, item)
    assert merge.take(10) == []
    assert merge.wanted_range() is not None
    assert merge.gaps == 1


def test_a_loss_within_a_drain_shows_by_the_topics_sequence() -> None:
    journal = Journal()
    merge = live_merge(journal)
    _, second, mark = journal.drain(["a/", "a/"])
    feed(merge, second)
    feed(merge, mark)
    assert merge.take(10) == []
    assert merge.wanted_range() == (1, 100)


def test_records_of_foreign_topics_are_no_gap() -> None:
    journal = Journal()
    merge = live_merge(journal)
    for topics in (["other/"], ["other/", "a/"], ["other/"]):
        for item in journal.drain(topics):
            feed(merge, item)
    assert [record.global_sequence for record in merge.take(10)] == [3]
    assert merge.live
    assert merge.confirmed == 4


def test_loss_at_the_tail_shows_by_the_beacon() -> None:
    journal = Journal()
    merge = live_merge(journal)
    journal.drain(["a/"])
    feed(merge, journal.beacon())
    assert merge.wanted_range() == (1, 100)


def test_a_reader_that_is_slow_costs_bounded_memory_and_no_record() -> None:
    journal = Journal()
    merge = live_merge(journal, bound=8)
    for _ in range(50):
        for item in journal.drain(["a/", "b/"]):
            feed(merge, item)
    assert len(merge.ready) <= 8
    assert merge.overflows == 1
    seen = []
    while len(seen) < 100:
        seen += merge.take(3)
        wanted = merge.wanted_range()
        if wanted is not None:
            merge.asked()
            merge.range(journal.range(*wanted))
    assert [record.global_sequence for record in seen] == list(range(1, 101))


def test_another_journal_is_told_apart() -> None:
    merge = ConsumerMerge(MINE, EPOCH, 5, 10, 1000)
    merge.asked()
    with pytest.raises(JournalLost):
        merge.range(RangeAnswer(EPOCH + 1, [], 6, True, {}))


def test_records_that_retention_removed_before_they_were_read_are_said() -> None:
    merge = ConsumerMerge(MINE, EPOCH, 5, 10, 1000)
    merge.asked()
    with pytest.raises(JournalLost, match="12 records"):
        merge.range(RangeAnswer(EPOCH, [], 20, True, {}, missing=12))


def test_a_new_consumer_does_not_mind_what_was_removed_before_its_time() -> None:
    merge = ConsumerMerge(MINE, 0, 0, 10, 1000)
    merge.asked()
    merge.range(RangeAnswer(EPOCH, [], 20, True, {}, missing=12))
    assert merge.live
    assert merge.confirmed == 19


def test_an_answer_nobody_asked_for_any_more_is_ignored() -> None:
    journal = Journal()
    journal.drain(["a/"])
    merge = ConsumerMerge(MINE, 0, 0, 10, 1000)
    merge.asked()
    merge.disconnected()
    merge.range(journal.range(1, 10))
    assert merge.take(10) == []

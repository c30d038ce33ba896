"""Answers that are kept after they were sent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.runtime.kept_answers import KeptAnswers


def answer(number: int, size: int = 10) -> OutgoingRecord:
    return OutgoingRecord(number.to_bytes(16, "big"), "memory/reply/x/", "ana", b"x" * size)


def test_an_answer_is_kept_until_newer_ones_take_its_place() -> None:
    kept = KeptAnswers(most=2)
    for number in (1, 2, 3):
        kept.keep(answer(number))
    assert kept.of(answer(1).event_id) is None
    assert kept.of(answer(3).event_id) == answer(3)


def test_an_answer_sent_again_is_kept_as_long_as_a_new_one() -> None:
    kept = KeptAnswers(most=2)
    for number in (1, 2, 1, 3):
        kept.keep(answer(number))
    assert [kept.of(answer(number).event_id) is not None for number in (1, 2, 3)] == [True, False, True]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 60)), max_size=40))
def test_neither_number_nor_bytes_grow_beyond_their_bounds(sent: list[tuple[int, int]]) -> None:
    kept = KeptAnswers(most=4, most_bytes=100)
    last: dict[int, OutgoingRecord] = {}
    for number, size in sent:
        last[number] = answer(number, size)
        kept.keep(last[number])
        held = [one for one in last.values() if kept.of(one.event_id) == one]
        assert len(held) == len(kept) <= 4
        assert sum(len(one.envelope) for one in held) <= 100
        assert kept.of(last[number].event_id) == last[number]


def test_one_that_is_larger_than_the_room_is_not_kept() -> None:
    kept = KeptAnswers(most_bytes=5)
    kept.keep(answer(1, 6))
    assert len(kept) == 0

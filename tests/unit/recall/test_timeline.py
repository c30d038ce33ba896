from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.memory import OPEN
from aico_memory.domain.recall.timeline import Held, Statement, at, resolve

DAY = 86_400_000_000


def said(day: int, value: str, act: str = "assert", *, single: bool = True, until: int = OPEN) -> Statement:
    fact = FormedFact(
        text=f"lives in {value}",
        kind="profile",
        subject="user",
        predicate="home_city",
        value=value,
        object_key=value.casefold(),
        single_valued=single,
        act=act,
        valid_from_us=day * DAY,
        valid_until_us=until,
    )
    return Statement(f"{day}{value}{act}".encode(), fact, day * DAY, day)


def true_on(statements: list[Statement], day: int, known: int = OPEN) -> list[str]:
    held: list[Held] = resolve(statements, known)
    return [one.fact.value for one in at(held, day * DAY)]


def test_a_change_closes_what_held_and_keeps_it_for_then() -> None:
    story = [said(1, "Leeds"), said(10, "Bristol")]
    assert true_on(story, 5) == ["Leeds"]
    assert true_on(story, 10) == ["Bristol"]


def test_a_correction_makes_the_old_value_never_true() -> None:
    story = [said(1, "Leeds"), said(10, "Bristol", "correct")]
    assert true_on(story, 5) == ["Bristol"]
    assert true_on(story, 5, known=9 * DAY) == ["Leeds"]


def test_an_end_leaves_nothing_afterwards() -> None:
    story = [said(1, "Leeds"), said(10, "Leeds", "end")]
    assert true_on(story, 9) == ["Leeds"]
    assert true_on(story, 10) == []


def test_an_end_of_another_value_closes_nothing() -> None:
    assert true_on([said(1, "Leeds"), said(10, "Bath", "end")], 11) == ["Leeds"]


def test_a_retraction_holds_for_all_time() -> None:
    assert true_on([said(1, "Leeds"), said(10, "Leeds", "retract")], 5) == []


def test_what_was_only_interrupted_holds_again() -> None:
    story = [said(1, "Leeds"), said(10, "Ghent", until=15 * DAY)]
    assert [true_on(story, day) for day in (9, 12, 15)] == [["Leeds"], ["Ghent"], ["Leeds"]]


def test_many_values_accumulate_and_end_one_by_one() -> None:
    story = [said(1, "tea", single=False), said(2, "coffee", single=False), said(3, "tea", "end", single=False)]
    assert true_on(story, 2) == ["tea", "coffee"]
    assert true_on(story, 3) == ["coffee"]


def test_a_late_arrival_takes_the_place_of_its_own_time() -> None:
    assert true_on([said(10, "Bristol"), said(1, "Leeds")], 20) == ["Bristol"]


@given(
    st.permutations([said(1, "A"), said(3, "B"), said(5, "C", "correct"), said(7, "C", "end"), said(9, "D")]),
    st.integers(0, 12),
)
def test_the_order_of_arrival_never_matters(order: list[Statement], day: int) -> None:
    assert true_on(order, day) == true_on(sorted(order, key=lambda one: one.said_at_us), day)

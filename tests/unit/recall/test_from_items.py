"""Items with their evolution give back what was true then, as known then; nothing is folded a second time."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.gate.statement import Statement
from aico_memory.domain.memory import OPEN, Evolution
from aico_memory.domain.recall.from_items import corrected_of, held_of, taken_back_of
from aico_memory.domain.recall.timeline import at
from aico_memory.domain.scopes import shared
from tests.support.statements import ALICE, Shelf, day, said, told

ALICES = frozenset({"alice"})


def histories(shelf: Shelf) -> dict[bytes, list[Evolution]]:
    found: defaultdict[bytes, list[Evolution]] = defaultdict(list)
    for change in shelf.changes:
        found[change.memory_id].append(change)
    return found


def answered(shelf: Shelf, on: float, known: int = OPEN) -> list[str]:
    held = held_of(shelf.items.values(), histories(shelf), known, ALICES)
    return [one.fact.value for one in at(held, day(on))]


def test_a_move_that_was_told_late_was_not_known_before() -> None:
    shelf = told([said(1, "Rome", 0), said(2, "Oslo", 20, since=10)])
    assert answered(shelf, 5) == ["Rome"]
    assert answered(shelf, 15) == ["Oslo"]
    assert answered(shelf, 15, known=day(12)) == ["Rome"]


def test_a_correction_leaves_nothing_of_what_it_corrects_but_what_was_known_before_it() -> None:
    shelf = told([said(1, "Rome", 0), said(2, "Oslo", 20, act="correct", corrected="rome", since=0)])
    assert answered(shelf, 5) == ["Oslo"]
    assert answered(shelf, 5, known=day(12)) == ["Rome"]


def corrected(shelf: Shelf, known: int = OPEN) -> list[tuple[str, bool]]:
    found = corrected_of(shelf.items.values(), histories(shelf), known, ALICES)
    return [(one.fact.value, one.invalid) for one in found]


def test_what_a_correction_takes_the_place_of_is_known_as_never_true_once_it_is_corrected() -> None:
    shelf = told([said(1, "Rome", 0), said(2, "Oslo", 20, act="correct", corrected="rome", since=0)])
    assert corrected(shelf) == [("Rome", True)]
    assert corrected(shelf, known=day(12)) == []
    assert corrected(told([said(1, "Rome", 0), said(2, "Oslo", 20)])) == [], "a change"
    assert corrected(told([said(1, "Rome", 0), said(2, "Rome", 9, act="retract")])) == [], "its message is not read"
    assert corrected(told([said(1, "Rome", 0), said(2, "Rome", 9), said(3, "Rome", 4)])) == [], "said again"


def test_what_was_taken_back_is_told_as_never_true_from_then_on() -> None:
    shelf = told([said(1, "Rome", 0), said(2, "Rome", 9, act="retract")])

    def taken_back(known: int) -> list[tuple[str, str, bool]]:
        found = taken_back_of(shelf.items.values(), known, ALICES)
        return [(one.predicate, one.fact.value, one.invalid) for one in found]

    assert taken_back(OPEN) == [("home_city", "Rome", True)]
    assert taken_back(day(5)) == []
    assert taken_back_of(told([said(1, "Rome", 0), said(2, "Oslo", 9)]).items.values(), OPEN, ALICES) == []


def test_what_was_never_true_is_no_answer() -> None:
    shelf = told([said(1, "Rome", 0), said(2, "Rome", 9, act="retract")])
    assert answered(shelf, 5) == []
    assert answered(shelf, 5, known=day(5)) == ["Rome"]


def test_candidates_variants_and_former_texts_are_no_answer() -> None:
    shelf = told([said(1, "Rome", 0)])
    (known,) = shelf.items.values()
    for changed in (
        {"status": "candidate"},
        {"status": "shadow"},
        {"variant_of": b"x"},
        {"version_of": b"x"},
        {"kind": "record"},
    ):
        other = replace(known, memory=replace(known.memory, **changed))
        assert held_of([other], {}, OPEN, ALICES) == []


def test_in_a_shared_scope_each_is_the_speaker_of_their_own_word_only() -> None:
    statement = said(1, "Rome", 0)
    spoken = replace(statement, speaker="Alice", fact=shared(statement.fact, "alice", "Alice"))
    items = told([spoken]).items.values()
    assert [one.subject for one in held_of(items, {}, OPEN, ALICES)] == ["user"]
    assert [one.subject for one in held_of(items, {}, OPEN, frozenset({"bo"}))] == ["alice"]


CITIES = ("Rome", "Oslo", "Bern")


@st.composite
def streams(draw: st.DrawFn) -> list[Statement]:
    count = draw(st.integers(1, 6))
    days = draw(st.lists(st.integers(0, 60), min_size=count, max_size=count, unique=True))
    made = []
    for number, on in enumerate(days, 1):
        act = draw(st.sampled_from(["assert", "assert", "assert", "end", "retract", "correct"]))
        value = draw(st.sampled_from(CITIES))
        corrected = draw(st.sampled_from([one.casefold() for one in CITIES])) if act == "correct" else ""
        since = draw(st.none() | st.integers(0, on))
        made.append(said(number, value, on, since=since, act=act, corrected=corrected))
    return made


@given(streams(), st.integers(0, 70), st.integers(0, 70))
def test_what_items_answer_is_what_their_versions_say(stream: list[Statement], on: int, known: int) -> None:
    shelf = told(stream)
    expected = [next(one.value for one in shelf.items.values() if one.object_key == key) for key in shelf.held(on, known)]
    assert answered(shelf, on, known=day(known)) == expected
    assert {one.memory.scope for one in shelf.items.values()} <= {ALICE}


@given(streams(), st.integers(0, 70))
def test_now_needs_no_histories(stream: list[Statement], on: int) -> None:
    shelf = told(stream)
    without = [one.fact.value for one in at(held_of(shelf.items.values(), {}, OPEN, ALICES), day(on))]
    assert without == answered(shelf, on)

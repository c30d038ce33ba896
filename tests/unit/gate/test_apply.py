"""What is answered after statements: true then, known then, whatever the order of arrival."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aico_memory.domain.gate.decide import Decision
from aico_memory.domain.gate.statement import withdrawal
from aico_memory.domain.memory import OPEN
from tests.support.memory_items import DAY
from tests.support.statements import Shelf, day, said, told

ROME = said(1, "Rome", 0)
OSLO = said(2, "Oslo", 20)
PARIS = said(3, "Paris", 10)


def test_a_change_ends_what_held_and_keeps_its_past() -> None:
    shelf = told([ROME, OSLO])
    assert (shelf.held(5), shelf.held(25), shelf.held(-1)) == (["rome"], ["oslo"], [])
    assert (shelf.held(25, known=19), shelf.active()) == (["rome"], ["oslo"])
    old = shelf.items[ROME.statement_id].memory
    assert (old.status, old.superseded_by, old.valid_until_us) == ("superseded", OSLO.statement_id, day(20))


def test_a_late_arrival_takes_its_place_between() -> None:
    for order in permutations([ROME, OSLO, PARIS]):
        shelf = told(order)
        assert [shelf.held(on)[0] for on in (5, 15, 25)] == ["rome", "paris", "oslo"]
        assert (shelf.held(15, known=9), shelf.held(25, known=15)) == (["rome"], ["paris"])
        assert shelf.active() == ["oslo"]


def test_what_was_said_at_one_moment_is_ordered_as_it_arrived() -> None:
    # The ids would say the contrary.
    first, then = said(9, "Rome", 5, heard=1), said(2, "Oslo", 5, heard=2)
    for order in permutations([first, then]):
        shelf = told(order)
        assert (shelf.held(5), shelf.held(9), shelf.active()) == (["oslo"], ["oslo"], ["oslo"])


def test_a_correction_changes_what_was_true_and_not_what_was_known() -> None:
    corrected = said(2, "Oslo", 10, act="correct", corrected="rome")
    shelf = told([ROME, corrected])
    assert (shelf.held(5), shelf.held(15)) == (["oslo"], ["oslo"])
    assert (shelf.held(5, known=9), shelf.held(5, known=10)) == (["rome"], ["oslo"])
    assert shelf.items[ROME.statement_id].memory.valid_until_us == ROME.fact.valid_from_us


def test_a_correction_of_what_is_over_keeps_its_end() -> None:
    corrected = said(3, "Bonn", 30, act="correct", corrected="rome")
    shelf = told([ROME, OSLO, corrected])
    assert (shelf.held(5), shelf.held(25), shelf.active()) == (["bonn"], ["oslo"], ["oslo"])
    assert shelf.held(5, known=29) == ["rome"]


def test_a_corrected_correction_brings_the_first_value_back() -> None:
    wrong = said(2, "Oslo", 10, act="correct", corrected="rome")
    back = said(3, "Rome", 20, act="correct", corrected="oslo")
    shelf = told([ROME, wrong, back])
    assert (shelf.held(5), shelf.held(25), shelf.active()) == (["rome"], ["rome"], ["rome"])
    assert shelf.held(5, known=15) == ["oslo"]


def test_an_end_leaves_the_past_and_nothing_after_it() -> None:
    shelf = told([ROME, said(2, "Rome", 10, act="end", corrected="rome")])
    assert (shelf.held(5), shelf.held(11), shelf.active()) == (["rome"], [], [])
    assert shelf.items[ROME.statement_id].memory.status == "expired"


def test_an_end_that_arrives_before_what_it_ends_is_not_lost() -> None:
    shelf = told([said(2, "Rome", 10, act="end", corrected="rome"), ROME])
    assert (shelf.held(5), shelf.held(11), shelf.active()) == (["rome"], [], [])


def test_an_end_that_lies_ahead_leaves_it_active_until_then() -> None:
    shelf = told([ROME, said(2, "Rome", 10, since=30, act="end", corrected="rome")])
    assert (shelf.held(20), shelf.held(31), shelf.active()) == (["rome"], [], ["rome"])


def test_a_retraction_leaves_no_past_and_reopens_what_it_had_ended() -> None:
    shelf = told([ROME, OSLO, said(3, "Oslo", 30, act="retract", corrected="oslo")])
    assert (shelf.held(5), shelf.held(25), shelf.active()) == (["rome"], ["rome"], ["rome"])
    assert shelf.held(25, known=29) == ["oslo"]
    gone = shelf.items[OSLO.statement_id].memory
    assert (gone.status, gone.invalidated_at_us) == ("disabled", day(30))


def test_an_interruption_leaves_the_earlier_value_to_hold_again() -> None:
    for order in permutations([ROME, said(2, "Berlin", 10, until=15)]):
        shelf = told(order)
        assert [shelf.held(on) for on in (5, 12, 16)] == [["rome"], ["berlin"], ["rome"]]
        assert shelf.items[ROME.statement_id].memory.valid_until_us == OPEN


def test_saying_an_interruption_again_leaves_its_end() -> None:
    shelf = told([ROME, said(2, "Berlin", 10, until=15), said(3, "Berlin", 12)])
    assert [shelf.held(on) for on in (13, 16)] == [["berlin"], ["rome"]]


def test_a_correction_of_what_nobody_said_is_a_change() -> None:
    shelf = told([ROME, said(2, "Oslo", 10, act="correct", corrected="paris")])
    assert (shelf.held(5), shelf.held(11)) == (["rome"], ["oslo"])


def test_used_to_ends_the_same_value_and_tells_of_another() -> None:
    ended = told([ROME, replace_from_unknown(said(2, "Rome", 10, until=10))])
    assert (ended.held(5), ended.held(11)) == (["rome"], [])
    beside = told([ROME, replace_from_unknown(said(2, "Paris", 10, until=10))])
    assert (beside.held(11), beside.held(-5)) == (["rome"], ["paris"])


def replace_from_unknown(statement):
    return replace(statement, fact=replace(statement.fact, valid_from_us=0))


def test_since_tells_an_earlier_beginning() -> None:
    shelf = told([ROME, said(2, "Rome", 10, since=-100)])
    assert (shelf.held(-50), shelf.active()) == (["rome"], ["rome"])
    assert shelf.held(-50, known=9) == []


def test_a_move_that_lies_ahead_leaves_today_as_it_is() -> None:
    shelf = told([ROME, said(2, "Oslo", 10, since=30)])
    assert (shelf.held(20), shelf.held(31)) == (["rome"], ["oslo"])
    shelf.tell(said(3, "Rome", 15))
    assert (shelf.held(20), shelf.held(31)) == (["rome"], ["oslo"])


def test_values_that_accumulate_live_side_by_side() -> None:
    likes = {"predicate": "likes", "single_valued": False, "kind": "preference"}
    shelf = told([said(1, "tea", 0, **likes), said(2, "coffee", 1, **likes)])
    assert sorted(shelf.held(5)) == ["coffee", "tea"]
    shelf.tell(said(3, "tea", 10, act="end", corrected="tea", **likes))
    assert (sorted(shelf.held(5)), shelf.held(11)) == (["coffee", "tea"], ["coffee"])


def test_saying_it_again_confirms_one_item() -> None:
    shelf = told([ROME, said(2, "Rome", 5)])
    memory = shelf.items[ROME.statement_id].memory
    assert (len(shelf.items), len(shelf.evidence), memory.access_count, memory.reference_count) == (1, 2, 1, 1)
    assert memory.confidence > 0.72


def test_delivering_it_again_changes_nothing() -> None:
    shelf = told([ROME, PARIS, OSLO])
    before = (dict(shelf.items), list(shelf.changes), list(shelf.evidence), list(shelf.statements))
    assert {one.rule for one in shelf.tell(OSLO, ROME, PARIS)} == {"redelivered"}
    assert (shelf.items, shelf.changes, shelf.evidence, shelf.statements) == before


def test_an_immutable_item_makes_a_candidate_of_a_contradiction() -> None:
    shelf = told([ROME])
    known = shelf.items[ROME.statement_id]
    shelf.items[ROME.statement_id] = replace(known, memory=replace(known.memory, immutable=True))
    for number, act in ((2, "assert"), (3, "correct"), (4, "retract"), (5, "end")):
        value = "Rome" if act in ("retract", "end") else "Oslo"
        applied = shelf.tell_one(said(number, value, 10, act=act, corrected="rome" if act != "assert" else ""))
        assert (applied.decision.action, applied.items[0].memory.status) == ("CANDIDATE", "candidate")
    assert shelf.held(20) == ["rome"]


def test_a_deletion_stays_a_deletion() -> None:
    shelf = told([ROME])
    known = shelf.items[ROME.statement_id]
    shelf.items[ROME.statement_id] = replace(known, memory=replace(known.memory, status="invalid", invalidated_at_us=day(5)))
    shelf.tell(OSLO)
    assert (shelf.items[ROME.statement_id].memory.status, shelf.held(25)) == ("invalid", ["oslo"])


def test_texts_without_a_reading_are_put_together_and_keep_all_facts() -> None:
    plain = {"predicate": "", "object_key": "", "single_valued": False, "kind": "decision"}
    shelf = Shelf(similarity=0.8)
    shelf.tell(said(1, "", 0, text="We deploy on Fridays", **plain))
    (decision,) = shelf.tell(said(2, "", 5, text="We deploy on Fridays after lunch. Bob approves", **plain))
    memory = shelf.items[said(1, "", 0).statement_id].memory
    assert decision.action == "UPDATE"
    assert (memory.text, memory.version) == ("We deploy on Fridays after lunch. Bob approves", 2)


@pytest.mark.parametrize("action", ["VARIANT", "REPLACE_VARIANT", "CANDIDATE", "SHADOW", "SKIP", "DISCARD"])
def test_what_is_not_believed_leaves_the_answer_as_it_is(action: str) -> None:
    shelf = told([ROME])
    shelf.keep(said(2, "Oslo", 10), Decision(action, "test", "test", ROME.statement_id))
    assert shelf.held(5) == ["rome"]
    if action != "REPLACE_VARIANT":
        assert shelf.held(20) == ["rome"]


def test_doubts_are_settled_with_what_they_doubted() -> None:
    shelf = told([ROME])
    doubt = said(2, "Oslo", 10, role="assistant", confidence=0.5)
    assert shelf.tell(doubt)[0].action == "VARIANT"
    shelf.tell(said(3, "Oslo", 20))
    assert shelf.items[doubt.statement_id].memory.status == "superseded"
    assert (shelf.active(), shelf.held(25), shelf.held(15)) == (["oslo"], ["oslo"], ["rome"])


cities = st.sampled_from(["Rome", "Oslo", "Paris"])
acts = st.sampled_from(["assert", "assert", "assert", "correct", "end", "retract"])
spans = st.one_of(st.none(), st.tuples(st.integers(-10, 40), st.one_of(st.none(), st.integers(0, 50))))


@st.composite
def stories(draw):
    length = draw(st.integers(1, 6))
    found = []
    for number in range(1, length + 1):
        value, act, on = draw(cities), draw(acts), draw(st.integers(0, 30))
        span = draw(spans) if act == "assert" else None
        since, until = span or (None, None)
        corrected = "" if act == "assert" else draw(cities).casefold() if act == "correct" else value.casefold()
        found.append(said(number, value, on, since=since, until=until, act=act, corrected=corrected))
    return found


@settings(max_examples=300, deadline=None)
@given(stories(), st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_change_any_answer(story, random) -> None:
    shuffled = list(story)
    random.shuffle(shuffled)
    first, second = told(story), told(shuffled)
    for on in range(-12, 52, 3):
        for known in (*range(0, 32, 3), 100):
            assert first.held(on, known) == second.held(on, known), (on, known, brief(story))


def brief(story) -> str:
    """A story for the message of a failure."""
    names = [(one.fact.act, one.fact.value, one.fact.corrected) for one in story]
    times = [
        [(us - day(0)) // DAY for us in (one.said_at_us, one.fact.valid_from_us, one.fact.valid_until_us)] for one in story
    ]
    return str(list(zip(names, times, strict=True)))


@settings(max_examples=300, deadline=None)
@given(stories())
def test_one_open_item_is_active_under_a_single_valued_key(story) -> None:
    shelf = Shelf()
    for statement in story:
        shelf.tell(statement)
        items = [one.memory for one in shelf.items.values()]
        assert sum(one.status == "active" and one.valid_until_us == OPEN for one in items) <= 1, brief(story)
        assert all(one.valid_from_us <= one.valid_until_us for one in items)
        assert {one.memory_id for one in items if one.status == "active"} <= {one.memory_id for one in shelf.evidence}


@settings(max_examples=200, deadline=None)
@given(stories())
def test_what_was_known_before_is_not_changed_by_what_is_said_later(story) -> None:
    ordered = sorted(story, key=lambda one: one.order)
    shelf = told(ordered[:-1])
    last = (ordered[-1].said_at_us - day(0)) // (day(1) - day(0))
    before = {(on, known): shelf.held(on, known) for on in range(0, 50, 3) for known in range(0, last, 2)}
    shelf.tell(ordered[-1])
    assert before == {(on, known): shelf.held(on, known) for on, known in before}, brief(ordered)


@settings(max_examples=200, deadline=None)
@given(stories(), st.data())
def test_delivering_any_statement_again_at_any_time_changes_nothing(story, data) -> None:
    once, twice = told(story), Shelf()
    for place, statement in enumerate(story):
        twice.tell(statement)
        twice.tell(story[data.draw(st.integers(0, place))])
    assert (once.items, once.changes, once.evidence, once.statements) == (
        twice.items, twice.changes, twice.evidence, twice.statements,
    )  # fmt: skip


def test_what_was_deleted_is_said_anew_as_something_new_and_what_it_had_replaced_stays_over():
    shelf = told([said(1, "Oslo", 1), said(2, "Rome", 5)])
    known = shelf.items[said(2, "Rome", 5).statement_id]
    shelf.items[known.memory.memory_id] = replace(
        known, memory=replace(known.memory, status="invalid", invalidated_at_us=day(8))
    )
    shelf.statements.append(withdrawal(said(2, "Rome", 5), bytes(15) + b"w", bytes(15) + b"e", day(8), 9))
    shelf.tell(said(3, "Rome", 12))
    assert [(one.object_key, one.memory.status) for one in shelf.items.values()] == [
        ("oslo", "superseded"), ("rome", "invalid"), ("rome", "active"),
    ]  # fmt: skip


def _thrice(**fields):
    """Rome, Oslo, Rome again: what is known of the second Rome, with these fields."""
    shelf, late = told([ROME, said(2, "Oslo", 10), said(3, "Rome", 20)]), said(3, "Rome", 20).statement_id
    shelf.items[late] = replace(shelf.items[late], memory=replace(shelf.items[late].memory, **fields))
    return shelf, shelf.items[late].memory


def test_an_immutable_item_is_not_absorbed_by_what_a_late_message_shows_to_be_one_with_it():
    shelf, fixed = _thrice(immutable=True)
    applied = shelf.tell_one(said(4, "Oslo", 15, act="retract", corrected="oslo"))
    assert (applied.decision.action, applied.decision.rule, applied.decision.target) == (
        "CANDIDATE", "immutable", fixed.memory_id,
    )  # fmt: skip
    assert shelf.items[fixed.memory_id].memory == fixed
    assert (shelf.held(15), shelf.held(25), shelf.active().count("rome")) == (["oslo"], ["rome"], 1)


def test_what_is_pinned_stays_pinned_under_the_item_that_it_is_one_with():
    shelf, pinned = _thrice(pinned=True)
    shelf.tell(said(4, "Oslo", 15, act="retract", corrected="oslo"))
    assert shelf.items[pinned.memory_id].memory.status == "superseded"
    kept = shelf.items[ROME.statement_id].memory
    assert (kept.status, kept.pinned, shelf.held(15), shelf.active()) == ("active", True, ["rome"], ["rome"])
    assert [(one.old_value, one.new_value) for one in shelf.changes if one.what == "pinned"] == [("False", "True")]


def test_a_deletion_of_what_held_once_leaves_the_same_value_that_holds_again():
    shelf = told([ROME, OSLO, said(3, "Rome", 30)])
    known = shelf.items[ROME.statement_id]
    shelf.items[ROME.statement_id] = replace(known, memory=replace(known.memory, status="invalid", invalidated_at_us=day(40)))
    shelf.statements.append(withdrawal(ROME, bytes(15) + b"w", bytes(15) + b"e", day(40), 9))
    shelf.tell(said(4, "Rome", 50))
    assert (shelf.active(), shelf.held(35), shelf.held(51)) == (["rome"], ["rome"], ["rome"])
    assert shelf.items[said(3, "Rome", 30).statement_id].memory.reference_count == 1

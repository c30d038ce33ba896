"""What a person has said of style, and what feedback said before it was edited, on disk and in the twin."""

from dataclasses import replace

from aico_memory.domain.behavioral.evidence import Cell, Stated, Wish
from tests.stores.behavioral.rows import event, feedback, former, read, write

CELL = Cell("question", "neutral", "morning", "short", 2.0, 1.0)


def test_a_statement_takes_the_place_of_the_one_before_and_one_without_a_weight_is_deleted(store):
    everywhere, here = Stated("verbosity", 0.2, 3.0), Stated("verbosity", 0.9, 3.0, 7)
    write(store, *(lambda rows, one=one: rows.put_statement("ann", one) for one in (here, everywhere)))
    write(store, lambda rows: rows.put_statement("bob", here))
    assert read(store, lambda rows: rows.statements("ann")) == [everywhere, here]
    write(store, lambda rows: rows.put_statement("ann", replace(here, value=0.4)))
    write(store, lambda rows: rows.put_statement("ann", replace(everywhere, weight=0.0)))
    assert read(store, lambda rows: rows.statements("ann")) == [replace(here, value=0.4)]
    write(store, lambda rows: rows.forget_learned("ann"))
    assert read(store, lambda rows: (rows.statements("ann"), rows.statements("bob"))) == ([], [here])


def test_a_cell_and_a_wish_that_say_nothing_any_more_are_gone(store):
    write(store, lambda rows: rows.put_cell("ann", CELL), lambda rows: rows.put_wish("ann", Wish("verbosity", 1.0)))
    write(store, lambda rows: rows.put_cell("ann", Cell(*CELL.key)), lambda rows: rows.put_wish("ann", Wish("verbosity")))
    assert read(store, lambda rows: (rows.cells("ann"), rows.wishes("ann"))) == ([], [])
    assert read(store, lambda rows: rows.counts()["taste_cells"]) == 0


def test_what_feedback_said_before_is_told_from_a_time_on_and_goes_with_it(store):
    first, second = former(edited_us=25), former(edited_us=30, reward=1)
    other = former(number=2, edited_us=40)
    write(store, *(lambda rows, one=one: rows.add_former(one) for one in (second, first, other)))
    assert read(store, lambda rows: rows.former_feedback("ann", 0)) == [first, second, other]
    assert read(store, lambda rows: rows.former_feedback("ann", 25)) == [second, other]
    write(store, lambda rows: rows.forget_former("ann", 35))
    write(store, lambda rows: rows.add_feedback(feedback(1)), lambda rows: rows.delete_feedback("ann", event(1)))
    assert read(store, lambda rows: rows.former_feedback("ann", 0)) == []


def test_what_a_night_made_after_a_time_is_taken_back_once_and_for_all(store):
    early = feedback(1, signalled_us=30, categories={"none": 0.9}, classified_us=40)
    write(store, lambda rows: rows.add_feedback(early), lambda rows: rows.take_back("ann", 35, 99))
    assert read(store, lambda rows: rows.feedback(event(1))) == replace(early, classified_us=0)
    write(store, lambda rows: rows.take_back("ann", 25, 99))
    assert read(store, lambda rows: rows.feedback(event(1))) == replace(early, signalled_us=0, classified_us=0)


def test_a_neutral_thumb_is_taken_back_and_the_id_of_what_was_given_without_consent_is_not(store):
    neutral = feedback(1, reward=0, status="unchanged", skill_updated=False, sealed_text=None)
    left = feedback(2, reward=0, status="no_consent", skill_updated=False, sealed_text=None)
    write(store, *(lambda rows, one=one: rows.add_feedback(one) for one in (neutral, left)))
    assert write(store, lambda rows: rows.take_back("ann", 10, 99)) == [1]
    assert read(store, lambda rows: rows.feedback_of("ann")) == [replace(neutral, undone_us=99), left]

"""One suite for outcomes, profiles, open suggestions and insights in the behavioral store and its in-memory twin."""

import uuid
from dataclasses import replace

import pytest

from aico_memory.domain.advisor.insights import Insight
from aico_memory.domain.advisor.records import OpenSuggestion, SealedOutcome, SealedProfile, SealedVector
from tests.stores.behavioral.rows import TWICE, read, write

INSIGHT = Insight("abc", "Suggestions are accepted.", "add_habit", 6, 0.75, "candidate", 9)


def outcome(number, user="ann", event=None, **changes):
    plain = SealedOutcome(
        user, number, uuid.UUID(int=event or number), f"s{number}", "add_habit", "accepted", 10, 20 + number, b"body", False,
        b"answer",
    )  # fmt: skip
    return replace(plain, **changes)


def test_outcomes_come_back_by_number_by_event_and_by_suggestion(store):
    again = outcome(3, suggestion_id="s1", outcome="rejected")
    write(store, *(lambda rows, one=one: rows.add_outcome(one) for one in (outcome(2), outcome(1), again)))
    write(store, lambda rows: rows.add_outcome(outcome(1, user="bob", event=9)))
    assert read(store, lambda rows: rows.outcomes("ann")) == [outcome(1), outcome(2), again]
    assert read(store, lambda rows: rows.outcomes("carl")) == []
    assert read(store, lambda rows: rows.outcome_of_event(uuid.UUID(int=9))) == outcome(1, user="bob", event=9)
    assert read(store, lambda rows: rows.outcome_of_event(uuid.UUID(int=77))) is None
    assert read(store, lambda rows: rows.outcomes_of_suggestion("ann", "s1")) == [outcome(1), again]
    assert read(store, lambda rows: rows.outcome_users()) == ["ann", "bob"]


def test_neither_an_event_nor_a_number_stands_twice(store):
    write(store, lambda rows: rows.add_outcome(outcome(1)))
    with pytest.raises(TWICE):
        write(store, lambda rows: rows.add_outcome(outcome(2, event=1)))
    with pytest.raises(TWICE):
        write(store, lambda rows: rows.add_outcome(outcome(1, event=2)))
    assert read(store, lambda rows: rows.outcomes("ann")) == [outcome(1)]


def test_a_compacted_outcome_has_the_smaller_body_and_no_vector(store):
    write(
        store,
        lambda rows: rows.add_outcome(outcome(1)),
        lambda rows: rows.add_outcome(outcome(2)),
        lambda rows: rows.put_outcome_vector("ann", 1, b"body", b"vector", "model"),
    )
    whole, size, oldest_us = read(store, lambda rows: rows.whole_outcomes("ann"))
    assert (whole, oldest_us) == (2, 21)
    assert read(store, lambda rows: rows.outcome_bytes("ann")) == size
    write(store, lambda rows: rows.compact_outcome("ann", 1, 21, b"b"))
    assert read(store, lambda rows: rows.outcomes("ann")) == [
        outcome(1, created_us=21, sealed_body=b"b", compacted=True), outcome(2),
    ]  # fmt: skip
    assert read(store, lambda rows: rows.outcome_vectors("ann")) == []
    assert read(store, lambda rows: rows.outcome_bytes("ann")) == size - 3 - 6
    assert read(store, lambda rows: rows.whole_outcomes("ann")) == (1, (size - 6) // 2, 22)
    assert read(store, lambda rows: rows.whole_outcomes("nobody")) == (0, 0, 0)
    assert read(store, lambda rows: rows.outcome_bytes("nobody")) == 0


def test_what_has_no_vector_of_the_model_is_to_be_embedded(store):
    write(store, *(lambda rows, number=number: rows.add_outcome(outcome(number)) for number in (1, 2, 3)))
    write(store, lambda rows: rows.put_outcome_vector("ann", 2, b"body", b"vector", "old"))
    assert [one.number for one in read(store, lambda rows: rows.outcomes_to_embed("", 10))] == [1, 3]
    assert [one.number for one in read(store, lambda rows: rows.outcomes_to_embed("old", 10))] == [1, 3]
    assert [one.number for one in read(store, lambda rows: rows.outcomes_to_embed("new", 2))] == [1, 2]
    assert read(store, lambda rows: rows.outcome_vectors("ann")) == [SealedVector(2, b"vector", "old")]


def test_a_vector_of_a_body_that_has_changed_is_not_kept(store):
    write(store, lambda rows: rows.add_outcome(outcome(1)), lambda rows: rows.compact_outcome("ann", 1, 21, b"b"))
    kept = write(store, lambda rows: rows.put_outcome_vector("ann", 1, b"body", b"vector", "model"))
    assert kept == [False]
    assert write(store, lambda rows: rows.put_outcome_vector("ann", 7, b"body", b"vector", "model")) == [False]
    assert read(store, lambda rows: rows.outcome_vectors("ann")) == []


def test_deleting_takes_outcomes_and_their_vectors_of_this_user_only(store):
    write(
        store,
        lambda rows: rows.add_outcome(outcome(1)),
        lambda rows: rows.add_outcome(outcome(1, user="bob", event=9)),
        lambda rows: rows.put_outcome_vector("ann", 1, b"body", b"vector", "model"),
    )
    assert write(store, lambda rows: rows.delete_outcomes("ann", [1, 5])) == [1]
    assert read(store, lambda rows: rows.outcomes("ann")) == []
    assert read(store, lambda rows: rows.outcome_vectors("ann")) == []
    assert len(read(store, lambda rows: rows.outcomes("bob"))) == 1


def test_the_later_profile_stands_and_can_be_deleted(store):
    assert read(store, lambda rows: rows.profile("ann")) is None
    write(
        store,
        lambda rows: rows.put_profile(SealedProfile("ann", b"one", 1)),
        lambda rows: rows.put_profile(SealedProfile("ann", b"two", 2)),
    )
    assert read(store, lambda rows: rows.profile("ann")) == SealedProfile("ann", b"two", 2)
    assert read(store, lambda rows: rows.outcome_users()) == ["ann"]
    write(store, lambda rows: rows.delete_profile("ann"))
    assert read(store, lambda rows: rows.profile("ann")) is None


def test_open_suggestions_are_listed_oldest_first_and_fall_due(store):
    first, second = (OpenSuggestion("ann", name, "add_habit", at, at + 5, b"sealed") for name, at in (("b", 1), ("a", 2)))
    write(store, lambda rows: rows.put_suggestion(second), lambda rows: rows.put_suggestion(first))
    assert read(store, lambda rows: rows.open_suggestions("ann")) == [first, second]
    assert read(store, lambda rows: rows.open_suggestion("ann", "a")) == second
    assert read(store, lambda rows: rows.open_suggestion("bob", "a")) is None
    assert read(store, lambda rows: rows.overdue_suggestions(6)) == [first]
    assert read(store, lambda rows: rows.overdue_suggestions(9)) == [second, first]
    write(store, lambda rows: rows.close_suggestion("ann", "a"), lambda rows: rows.close_suggestion("ann", "never"))
    assert read(store, lambda rows: rows.open_suggestions("ann")) == [first]


def test_insights_are_put_and_deleted_by_id(store):
    write(
        store,
        lambda rows: rows.put_insight(replace(INSIGHT, insight_id="b")),
        lambda rows: rows.put_insight(INSIGHT),
        lambda rows: rows.put_insight(replace(INSIGHT, status="promoted")),
    )
    assert read(store, lambda rows: rows.insights()) == [replace(INSIGHT, status="promoted"), replace(INSIGHT, insight_id="b")]
    write(store, lambda rows: rows.delete_insight("b"))
    assert [one.insight_id for one in read(store, lambda rows: rows.insights())] == ["abc"]


def test_an_exception_leaves_outcome_and_profile_as_they_were(store):
    with pytest.raises(ZeroDivisionError), store.state.transaction() as transaction:
        rows = store.within(transaction)
        rows.add_outcome(outcome(1))
        rows.put_profile(SealedProfile("ann", b"one", 1))
        raise ZeroDivisionError
    assert read(store, lambda rows: rows.outcomes("ann")) == []
    assert read(store, lambda rows: rows.profile("ann")) is None

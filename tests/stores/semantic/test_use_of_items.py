"""Conformance of what is kept of use: counts by session and hour, tags, pairs, interactions, questions, upkeep."""

from dataclasses import replace

import pytest

from aico_memory.domain.gate.policy import Usage
from aico_memory.domain.gate.tagging import Pair, Tag
from aico_memory.domain.memory import restated
from aico_memory.stores.semantic.item_port import Interaction
from tests.stores.semantic.items import an_item, put, unit
from tests.stores.semantic.memories import ADA, BEN, memory_id

HOUR = 3_600_000_000


def test_use_is_counted_by_session_and_by_hour(store):
    with store.transaction() as transaction:
        transaction.count_write(ADA, "s1", HOUR)
        transaction.count_write(ADA, "s1", 2 * HOUR - 1)
        transaction.count_write(ADA, "s2", HOUR + 5)
        transaction.count_write(BEN, "s1", HOUR)
    assert store.usage(ADA, "s1", HOUR) == Usage(2, 3)
    assert store.usage(ADA, "s2", 2 * HOUR) == Usage(1, 0)


def test_what_was_said_in_no_session_counts_by_the_hour_alone(store):
    with store.transaction() as transaction:
        transaction.count_write(ADA, "", HOUR)
        transaction.count_write(ADA, "", HOUR)
    assert store.usage(ADA, "", HOUR) == Usage(0, 2)


def test_tags_run_out_and_are_captured_once(store):
    put(store, an_item(1), an_item(2, "x", valid_until_us=9))
    tag = Tag(memory_id(1), ADA, "s1", 5, 100)
    with store.transaction() as transaction:
        transaction.put_tag(tag)
        transaction.put_tag(Tag(memory_id(2), ADA, "s2", 5, 100))
        assert transaction.tags(ADA, "s1", 50) == [tag]
        transaction.put_tag(tag._replace(captured_us=60))
    assert store.tags(ADA, "s1", 99) == [tag._replace(captured_us=60)]
    assert store.tags(ADA, "s1", 100) == [] == store.tags(BEN, "s1", 50)
    with store.transaction() as transaction:
        transaction.forget_before(0, 101)
    assert store.tags(ADA, "s1", 50) == []


def test_pairs_are_counted_where_both_items_are_there(store):
    put(store, an_item(1), an_item(2, "x", valid_until_us=9))
    pair = Pair(memory_id(1), memory_id(2))
    with store.transaction() as transaction:
        transaction.count_pairs([pair, Pair(memory_id(1), memory_id(7))])
        transaction.count_pairs([pair])
    assert store.pair_counts([memory_id(2), memory_id(3), memory_id(1)]) == {pair: 2}
    assert store.pair_counts([memory_id(2)]) == store.pair_counts([memory_id(1), memory_id(7)]) == {}


def test_an_interaction_is_stored_once_with_what_it_reinforced(store):
    put(store, an_item(1))
    turn = Interaction(ADA, "ada", "i-1", memory_id(50), 10, "You live in Rome", "Rome")
    with store.transaction() as transaction:
        assert transaction.keep_interaction(turn)
        assert not transaction.keep_interaction(turn)
        transaction.note_reinforced(ADA, "i-1", [memory_id(1)])
        transaction.note_reinforced(ADA, "i-1", [memory_id(1)])
    assert store.interaction(ADA, "i-1") == turn
    assert store.interaction(BEN, "i-1") is None
    assert store.reinforced_by(ADA, "i-1") == {memory_id(1)}
    with store.transaction() as transaction:
        transaction.forget_before(11, 0)
    assert store.interaction(ADA, "i-1") is None
    assert store.reinforced_by(ADA, "i-1") == frozenset()


def test_upkeep_remembers_when_it_was_done(store):
    put(store, an_item(1))
    with store.transaction() as transaction:
        transaction.note_applied("decay", {memory_id(1): 5})
        transaction.note_applied("decay", {memory_id(1): 9})
        transaction.note_applied("rehearsal", {memory_id(1): 7})
    assert store.applied_at("decay", [memory_id(1), memory_id(2)]) == {memory_id(1): 9}
    assert store.applied_at("drift", [memory_id(1)]) == {}


def test_only_the_last_questions_of_a_scope_stay(store):
    with store.transaction() as transaction:
        for number in range(1, 5):
            transaction.note_question(ADA, "m", unit(number, 1), number, 3)
        transaction.note_question(BEN, "m", unit(1, 0), 9, 3)
    assert [vector.tolist() for vector in store.questions(ADA, "m", 2)] == [
        pytest.approx(unit(3, 1).tolist(), abs=1e-3), pytest.approx(unit(4, 1).tolist(), abs=1e-3),
    ]  # fmt: skip
    assert len(store.questions(ADA, "m", 9)) == 3
    assert store.questions(ADA, "other", 9) == []


def test_what_was_asked_before_a_place_on_the_bus_is_found_when_more_has_been_asked_since(store):
    with store.transaction() as transaction:
        for number in range(1, 6):
            transaction.note_question(ADA, "m", unit(number, 1), number, 9, sequence=10 * number)
    assert [vector.tolist() for vector in store.questions(ADA, "m", 2, before=30)] == [
        pytest.approx(unit(1, 1).tolist(), abs=1e-3), pytest.approx(unit(2, 1).tolist(), abs=1e-3),
    ]  # fmt: skip
    assert store.questions(ADA, "m", 9, before=10) == []
    assert len(store.questions(ADA, "m", 9)) == 5


def test_strengths_change_without_work_for_the_indexes(store, queue):
    put(store, an_item(1))
    with store.transaction() as transaction:
        memory = transaction.memory(memory_id(1))
        transaction.set_strength(replace(memory, stability=9.0, access_count=4, text="ignored"))
    found = store.known([memory_id(1)], [ADA])[0].memory
    assert (found.stability, found.access_count, found.text) == (9.0, 4, "User lives in Rome")
    assert queue.pending_count() == 1


def test_the_mean_access_counts_what_is_or_was_believed_and_awake(store):
    assert store.mean_access(ADA) == 0.0
    put(store, an_item(1, access_count=4), an_item(2, "Oslo", access_count=1, status="superseded"))
    put(store, an_item(3, "x", access_count=9, tier="dormant", fact_key="x"), an_item(4, "y", access_count=9, status="invalid"))
    put(store, an_item(5, "z", BEN, access_count=9))
    assert store.mean_access(ADA) == 2.5


def test_what_an_answer_changes_of_what_it_used_is_written_for_all_at_once(store, queue):
    put(store, an_item(1, confidence=0.7, utility=0.4), an_item(2, "Oslo", fact_key="x"))
    waiting = queue.pending_count()
    with store.transaction() as transaction:
        read = transaction.outlined([memory_id(2), memory_id(1), memory_id(9), memory_id(2)], [ADA])
        changes = {"stability": 9.0, "storage_strength": 2.5, "access_count": 4, "last_accessed_us": 7}
        transaction.set_retention([restated(one, **changes, confidence=0.1, utility=0.9, status="invalid") for one in read])
    for one in store.known([memory_id(1), memory_id(2)], [ADA]):
        assert {name: getattr(one.memory, name) for name in changes} == changes
        assert one.memory.status == "active" and one.memory.text
    # What is shown of a memory is not changed by its use.
    (first,) = store.known([memory_id(1)], [ADA])
    assert (first.memory.confidence, first.memory.utility) == (0.7, 0.4)
    assert queue.pending_count() == waiting


def test_memories_are_outlined_in_the_order_asked_for_within_the_scopes(store):
    put(store, an_item(1, entities=("entity://name/anna",)), an_item(2, "Oslo", fact_key="x"), an_item(3, "x", BEN))
    found = store.outlined([memory_id(2), memory_id(3), memory_id(1), memory_id(2)], [ADA])
    assert [one.memory_id for one in found] == [memory_id(2), memory_id(1)]
    assert {(one.text, one.entities, one.fact_key, one.speaker, one.scope) for one in found} == {("", (), "", "", ADA)}
    assert store.outlined([], [ADA]) == []

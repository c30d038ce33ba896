"""Conformance of what assembling a context asks of the store: the encrypted database and its twin."""

import numpy as np
import pytest

from aico_memory.domain.gate.statement import Known
from aico_memory.domain.retrieval.outlived import Made
from aico_memory.stores.semantic.retrieval_port import HotTier
from aico_memory.stores.semantic.sql_retrieval import SqlRetrieval
from aico_memory.stores.semantic.sql_store import SqlSemanticStore
from aico_memory.stores.semantic.twin_retrieval import TwinRetrieval
from tests.stores.semantic.memories import ADA, BEN, NOW, a_memory, add, evidence_of

TIER = HotTier(utility=0.8, uses=10, since_us=500, limit=3)
WARM = {"kind": "fact", "utility": 0.9, "access_count": 12, "updated_at_us": 600}


@pytest.fixture
def retrieval(store):
    return SqlRetrieval(store) if isinstance(store, SqlSemanticStore) else TwinRetrieval(store)


def put(store, number, scope=ADA, **fields):
    with store.transaction() as transaction:
        transaction.put_item(Known(a_memory(number, f"item {number}", scope, **fields), "", "", "", False, ""), [], 1)


def test_only_what_is_useful_used_fresh_and_in_force_is_hot(store, retrieval):
    put(store, 1, **WARM)
    put(store, 2, **{**WARM, "utility": 0.95})
    put(store, 3, **{**WARM, "utility": 0.7})
    put(store, 4, **{**WARM, "access_count": 9})
    put(store, 5, **{**WARM, "updated_at_us": 400})
    put(store, 6, **{**WARM, "updated_at_us": 400, "last_referenced_us": 700, "utility": 0.85})
    put(store, 7, **{**WARM, "status": "superseded"})
    put(store, 8, **{**WARM, "tier": "dormant"})
    put(store, 9, **{**WARM, "valid_until_us": NOW})
    put(store, 10, **{**WARM, "valid_from_us": NOW + 1})
    put(store, 11, BEN, **WARM)
    add(store, a_memory(12, **{**WARM, "kind": "record"}))
    assert [one.text for one in retrieval.hot([ADA], TIER, NOW)] == ["item 2", "item 1", "item 6"]


def test_pinned_constraints_are_at_hand_before_all_others(store, retrieval):
    for number in (1, 2, 3):
        put(store, number, **WARM)
    put(store, 4, kind="constraint", pinned=True, utility=0.1)
    put(store, 5, kind="constraint", utility=0.1)
    put(store, 6, kind="fact", pinned=True, utility=0.1)
    assert [one.text for one in retrieval.hot([ADA], TIER, NOW)] == ["item 4", "item 1", "item 2"]


def test_vectors_come_of_the_model_that_is_named_and_of_present_texts(store):
    put(store, 1, kind="fact")
    put(store, 2, kind="fact")
    one, two = a_memory(1).memory_id, a_memory(2).memory_id
    vector = np.array([0.5, 0.25, -1.0], dtype=np.float32)
    with store.transaction() as transaction:
        transaction.keep_vector(one, "model", vector)
    found = store.vectors_of([one, two], "model")
    assert list(found) == [one]
    assert np.array_equal(found[one], vector)
    assert store.vectors_of([one, two], "other") == {}


def test_the_first_source_comes_whole_and_the_others_by_their_events(store, retrieval):
    add(store, a_memory(1), evidence=[evidence_of(1, event, at_us=100 + event, name=f"n{event}") for event in (3, 1, 2)])
    with store.transaction() as transaction:
        transaction.add_evidence(evidence_of(1, 4, method="replay", at_us=50))
    one = a_memory(1).memory_id
    found = retrieval.sources_of(dict.fromkeys((one, a_memory(2).memory_id), a_memory(1).owner), 2)
    assert (found[one].first.at_us, found[one].first.name) == (101, "n1")
    assert found[one].event_ids == (evidence_of(1, 1).event_id, evidence_of(1, 2).event_id)
    assert found[a_memory(2).memory_id] == (None, ())


def test_around_a_record_stands_what_was_said_in_its_conversation(store, retrieval):
    for number, at, session in ((1, 100, "s"), (2, 200, "s"), (3, 300, "s"), (4, 400, "s"), (5, 250, "t"), (6, 500, "s")):
        add(store, a_memory(number, f"text {number}", said_at_us=at, session_id=session))
    add(store, a_memory(7, "another's", BEN, said_at_us=290, session_id="s"))
    put(store, 8, kind="fact", said_at_us=310, session_id="s")
    before, after = retrieval.around(a_memory(3, said_at_us=300, session_id="s"), 2)
    assert [one.text for one in before] == ["text 2", "text 1"]
    assert [one.text for one in after] == ["text 4", "text 6"]


def test_what_was_said_at_one_moment_stands_around_a_memory_as_it_arrived(store, retrieval):
    for number in (1, 2, 3):
        add(store, a_memory(number, f"text {number}", said_at_us=100, session_id="s"))
    put(store, 9, kind="fact", said_at_us=100, session_id="s")
    add(store, a_memory(4, "text 4", said_at_us=100, session_id="s"))
    before, after = retrieval.around(a_memory(2, said_at_us=100, session_id="s"), 5)
    assert ([one.text for one in before], [one.text for one in after]) == (["text 1"], ["text 3", "text 4"])
    before, after = retrieval.around(a_memory(9, kind="fact", said_at_us=100, session_id="s"), 1)
    assert ([one.text for one in before], [one.text for one in after]) == (["text 3"], ["text 4"])


def test_items_are_found_by_the_events_that_they_rest_on(store, retrieval):
    put(store, 1, kind="fact", said_at_us=5, status="superseded", valid_from_us=5, valid_until_us=9)
    put(store, 2, kind="fact", said_at_us=6, valid_from_us=6)
    put(store, 3, BEN, kind="fact")
    put(store, 4, kind="pattern")
    add(store, a_memory(5), evidence=[evidence_of(5, 1)])
    with store.transaction() as transaction:
        for number, event in ((1, 1), (2, 1), (3, 1), (2, 2)):
            transaction.add_evidence(evidence_of(number, event))
        transaction.add_evidence(evidence_of(4, 1, method="replay"))
    first, second, unknown = (evidence_of(1, event).event_id for event in (1, 2, 3))
    found = retrieval.made_of([first, second, unknown], [ADA])
    one, other = a_memory(1), a_memory(2)
    over = Made("superseded", 5, 5, 9, one.memory_id)
    holds = Made("active", 6, 6, other.valid_until_us, other.memory_id)
    assert found == {first: [over, holds], second: [holds]}
    assert retrieval.made_of([first], []) == {}


def test_deleted_records_are_told_those_received_last_first(store, retrieval):
    for number, received_at_us in ((1, 10), (2, 30), (3, 20)):
        add(store, a_memory(number, kind="record", status="invalid", received_at_us=received_at_us))
    add(store, a_memory(4, kind="record"))
    add(store, a_memory(5, scope=BEN, kind="record", status="invalid"))
    put(store, 6, kind="fact", status="invalid")
    assert retrieval.withdrawn([ADA], 9) == [a_memory(one).memory_id for one in (2, 3, 1)]
    assert retrieval.withdrawn([ADA], 1) == [a_memory(2).memory_id] and retrieval.withdrawn([], 9) == []


def test_edited_records_are_told_those_received_last_first(store, retrieval):
    for number, received_at_us in ((1, 10), (2, 30), (3, 20)):
        add(store, a_memory(number, kind="record", text=f"now {number}", version=2, received_at_us=received_at_us))
        former = a_memory(number)
        put(store, 10 + number, kind="record", status="superseded", version_of=former.memory_id)
    add(store, a_memory(4, kind="record"))
    add(store, a_memory(5, scope=BEN, kind="record"))
    put(store, 15, BEN, kind="record", status="superseded", version_of=a_memory(5).memory_id)
    add(store, a_memory(6, kind="record", status="invalid"))
    put(store, 16, kind="record", status="superseded", version_of=a_memory(6).memory_id)
    put(store, 7, kind="fact")
    put(store, 17, kind="fact", status="superseded", version_of=a_memory(7).memory_id)
    assert [one.text for one in retrieval.edited([ADA], 9)] == ["now 2", "now 3", "now 1"]
    assert [one.text for one in retrieval.edited([ADA], 1)] == ["now 2"] and retrieval.edited([], 9) == []

"""Conformance of the write path's store: items, what they rest on and what ties them, in the database and its twin."""

from dataclasses import replace

import pytest

from aico_memory.domain.gate.policy import Usage
from aico_memory.domain.graph.edges import Edge
from aico_memory.domain.graph.entities import Entity, Merge
from aico_memory.domain.graph.relations import relate
from aico_memory.domain.memory import OPEN, Evolution
from aico_memory.domain.temporal.versions import Belief
from aico_memory.errors import AicoMemoryError
from tests.stores.semantic.items import an_item, put, unit
from tests.stores.semantic.memories import ADA, BEN, TEAM, a_memory, evidence_of, memory_id, view
from tests.support.statements import said

HOUR = 3_600_000_000


def texts(found):
    return [one.memory.text for one in found]


def test_an_item_comes_back_with_its_reading(store):
    item = an_item(1, "Ağrı")
    assert put(store, item) == [True]
    assert put(store, replace(item, memory=replace(item.memory, confidence=0.4)), tokens=None) == [False]
    (found,) = store.known([memory_id(1), memory_id(2)], [ADA])
    assert (found.value, found.subject, found.predicate, found.object_key, found.single_valued) == (
        "Ağrı", "user", "home_city", "ağrı", True,
    )  # fmt: skip
    assert found.memory.confidence == 0.4
    assert store.known([memory_id(1)], [BEN]) == []
    put(store, replace(found, predicate="", subject="", object_key="", value="", single_valued=False), tokens=None)
    assert store.known([memory_id(1)], [ADA])[0].predicate == ""
    assert store.by_predicate(ADA, "user", "home_city", 5) == []


def test_items_are_found_by_key_reading_and_object_whatever_became_of_them(store):
    put(store, an_item(1, "Rome", status="superseded", said_at_us=50), an_item(2, "Oslo", said_at_us=90))
    put(store, an_item(3, "Rome", scope=BEN), an_item(4, "tea", predicate="likes", single=False))
    assert texts(store.by_key(ADA, "user|home_city")) == ["User lives in Rome", "User lives in Oslo"]
    assert texts(store.by_predicate(ADA, "User ", "home_city", 9)) == ["User lives in Oslo", "User lives in Rome"]
    assert texts(store.by_predicate(ADA, "user", "home_city", 1)) == ["User lives in Oslo"]
    assert texts(store.by_object(ADA, "rome", 9)) == ["User lives in Rome"]
    assert store.by_object(TEAM, "rome", 9) == [] == store.by_key(ADA, "")
    assert texts(store.items([ADA], ("active",), b"", 9)) == ["User lives in Oslo", "User lives in tea"]
    assert texts(store.items([ADA, BEN], (), memory_id(1), 2)) == ["User lives in Oslo", "User lives in Rome"]
    assert texts(store.newest(ADA, 1)) == ["User lives in tea"]


def test_what_an_owner_has_is_told_by_id_records_and_what_is_over_with_it(store):
    with store.transaction() as transaction:
        transaction.add(a_memory(1), (), ["tea"], 1)
    put(store, an_item(3, "Rome", status="superseded"), an_item(4, "Oslo", scope=TEAM), an_item(5, "Bonn", scope=BEN))
    owner = store.known([memory_id(1)], [ADA])[0].memory.owner
    assert store.owned([ADA, TEAM], [owner], b"", 9) == [memory_id(1), memory_id(3), memory_id(4)]
    assert store.owned([ADA, TEAM], [owner], memory_id(1), 1) == [memory_id(3)]
    assert store.owned([ADA], ["nobody"], b"", 9) == [] == store.owned([], [owner], b"", 9)


def test_records_are_no_items(store):
    with store.transaction() as transaction:
        transaction.add(a_memory(1), (), ["tea"], 1)
    assert store.items([ADA], (), b"", 9) == [] == store.newest(ADA, 9)
    assert store.active_count(ADA) == 0
    assert texts(store.known([memory_id(1)], [ADA])) == ["I like tea"]


def test_one_open_active_item_holds_a_key_and_bounded_ones_stand_beside_it(store):
    put(store, an_item(1), an_item(2, "Oslo", valid_until_us=5000))
    with pytest.raises((AicoMemoryError, Exception), match=r"(?i)unique|same fact key"):
        put(store, an_item(3, "Bern"))
    put(store, an_item(1, status="superseded", valid_until_us=400), an_item(3, "Bern"))
    assert [one.memory.status for one in store.by_key(ADA, "user|home_city")] == ["superseded", "active", "active"]


def test_variants_are_told_by_what_they_hang_on(store):
    put(store, an_item(1), an_item(2, "Oslo", variant_of=memory_id(1)))
    assert texts(store.variants([memory_id(1), memory_id(2)])) == ["User lives in Oslo"]
    assert store.variants([memory_id(2)]) == [] == store.variants([])


def test_the_nearest_items_are_active_of_the_scope_and_of_the_model(store):
    put(store, an_item(1, valid_until_us=9), an_item(2, "Oslo"), an_item(3, "tea", status="superseded"), an_item(4, scope=BEN))
    with store.transaction() as transaction:
        for number, vector in ((1, unit(1, 0)), (2, unit(3, 4)), (3, unit(1, 0)), (4, unit(1, 0)), (9, unit(1, 0))):
            transaction.keep_vector(memory_id(number), "m", vector)
        near = transaction.nearest(ADA, "m", unit(1, 0), 5)
    assert [(one.known.memory.memory_id, one.similarity) for one in near] == [(memory_id(1), 1.0), (memory_id(2), 0.6)]
    assert store.nearest(ADA, "other", unit(1, 0), 5) == []
    assert [one.similarity for one in store.nearest(ADA, "m", unit(0, 1), 1)] == [0.8]
    assert store.similarities([memory_id(3), memory_id(7)], "m", unit(1, 0)) == {memory_id(3): 1.0}
    (kept,) = store.vectors_of([memory_id(1), memory_id(7)], "m").values()
    assert kept == pytest.approx(unit(1, 0)) and store.vectors_of([memory_id(1)], "other") == {}


def test_a_kept_vector_needs_no_embedding_until_the_text_changes(store, queue):
    put(store, an_item(1))
    with store.transaction() as transaction:
        transaction.keep_vector(memory_id(1), "m", unit(1, 0))
    key = queue.pending(1)[0].key
    assert queue.fingerprint() == "m"
    assert queue.unembedded([key], "m") == []
    assert len(queue.entries("m", [key])) == 1
    put(store, an_item(1, "Rome and Bern", version=2))
    assert [one.version for one in queue.unembedded([key], "m")] == [2]
    assert store.nearest(ADA, "m", unit(1, 0), 5) == []
    assert store.former_vector(memory_id(1), "m").tolist() == [1, 0]
    assert store.former_vector(memory_id(1), "n") is None


def test_evidence_moves_with_what_it_proves(store):
    put(store, an_item(1), an_item(2, "Oslo", valid_until_us=9))
    with store.transaction() as transaction:
        for number, event in ((1, 1), (1, 2), (2, 2)):
            transaction.add_evidence(evidence_of(number, event, excerpt=f"{number} {event}"))
        transaction.add_evidence(evidence_of(1, 3, method="replay"))
        assert transaction.evidence_counts([memory_id(1), memory_id(2)]) == {memory_id(1): 2, memory_id(2): 1}
        transaction.move_evidence(memory_id(1001), memory_id(1), memory_id(2))
        transaction.move_evidence(memory_id(1002), memory_id(1), memory_id(2))
    found = store.evidence([memory_id(1), memory_id(2)])
    assert [one.method for one in found[memory_id(1)]] == ["replay"]
    assert {one.event_id: one.excerpt for one in found[memory_id(2)]} == {memory_id(1001): "1 1", memory_id(1002): "2 2"}
    assert store.evidence_counts([memory_id(1), memory_id(2)]) == {memory_id(1): 0, memory_id(2): 2}
    assert store.items_of_event(memory_id(1001)) == [memory_id(2)]


def test_a_history_is_replaced_where_statements_wrote_it_and_stays_where_others_did(store):
    put(store, an_item(1))
    by_statement, by_operator = memory_id(60), memory_id(61)
    with store.transaction() as transaction:
        transaction.add_evolution(Evolution(memory_id(1), "status", "active", "superseded", 5, by_statement))
        transaction.add_evolution(Evolution(memory_id(1), "confidence", "0.5", "0.6", 5, by_statement))
        transaction.add_evolution(Evolution(memory_id(1), "status", "superseded", "active", 7, by_operator))
        fresh = Evolution(memory_id(1), "valid_until_us", "9", "8", 6, by_statement, "ended")
        transaction.put_history(memory_id(1), [by_statement], [fresh])
    assert [(one.what, one.cause) for one in store.histories([memory_id(1)])[memory_id(1)]] == [
        ("confidence", by_statement), ("valid_until_us", by_statement), ("status", by_operator),
    ]  # fmt: skip
    assert store.histories([memory_id(1)])[memory_id(1)] == store.evolution(memory_id(1))
    chosen = store.histories([memory_id(1), memory_id(2)], ("status", "confidence"))
    assert [one.what for one in chosen[memory_id(1)]] == ["confidence", "status"]
    assert chosen[memory_id(2)] == []


def test_a_relation_stands_once_until_it_is_pruned(store):
    put(store, an_item(1), an_item(2, "tea", valid_until_us=9), an_item(3, "x", scope=BEN))
    first = relate(memory_id(1), "elaborates", memory_id(2), 0.5, 7)
    with store.transaction() as transaction:
        assert transaction.add_relations([first, first]) == 1
        assert transaction.add_relations([replace(first, confidence=0.9)]) == 0
    assert store.relations([memory_id(2)]) == [first] == store.scope_relations(ADA)
    assert store.relations([memory_id(3)]) == [] == store.scope_relations(BEN)
    assert store.relation_count(ADA) == 1
    with store.transaction() as transaction:
        transaction.drop_relations([first.key])
    assert store.relation_count(ADA) == 0


def test_items_are_found_by_the_entities_they_mention(store):
    put(store, an_item(1, entities=("entity://name/anna",)), an_item(2, "x", valid_until_us=9, entities=("entity://name/bo",)))
    assert texts(store.mentioning(ADA, ["entity://name/anna"], 9)) == ["User lives in Rome"]
    assert store.mentioning(BEN, ["entity://name/anna"], 9) == [] == store.mentioning(ADA, [], 9)


def test_the_graph_keeps_entities_merges_and_edges_by_scope(store):
    anna = Entity(memory_id(1), ADA, "Anna Ng", "person", 5, ("Anni",))
    bern = Entity(memory_id(2), ADA, "Bern", "place", 6)
    edge = Edge(memory_id(3), ADA, anna.entity_id, "home_city", bern.entity_id, "Bern", True, 0.8, memory_id(3),
                (Belief(5, 5, OPEN, memory_id(9)), Belief(8, 5, 7, memory_id(10))))  # fmt: skip
    merge = Merge(memory_id(4), anna.entity_id, bern.entity_id, 9, "similar", 0.9)
    with store.transaction() as transaction:
        for entity in (anna, bern):
            transaction.put_entity(entity, "ada")
        transaction.put_edge(edge, "ada")
        transaction.put_merge(merge, ADA)
        assert transaction.edge_of(memory_id(3)) == edge
    assert store.entities(ADA) == [anna, bern]
    assert store.entities_named(ADA, ["anni", "nobody"]) == [anna]
    assert store.entities_named(BEN, ["anni"]) == [] == store.entities(BEN) == store.edges(BEN)
    assert store.edges(ADA) == [edge] == store.edges(ADA, [bern.entity_id])
    assert store.edges(ADA, [memory_id(7)]) == []
    assert store.merges(ADA) == [merge]
    with store.transaction() as transaction:
        transaction.put_entity(replace(anna, aliases=("Anni", "A.")), "ada")
        transaction.put_merge(replace(merge, undone_at_us=11), ADA)
        transaction.put_edge(replace(edge, confidence=0.9), "ada")
    assert store.entities_named(ADA, ["a"])[0].aliases == ("Anni", "A.")
    assert store.merges(ADA)[0].undone_at_us == 11
    assert store.edges(ADA)[0].confidence == 0.9


def test_an_attempt_that_fails_leaves_what_was_written_before_it(store):
    with store.transaction() as transaction:
        transaction.put_item(an_item(1), ["lives"], 1)
        with pytest.raises(ZeroDivisionError), transaction.attempt():
            transaction.put_item(an_item(2, "tea", valid_until_us=9), ["tea"], 1)
            transaction.keep_statement(said(1, "Rome", 1, scope=ADA), "kept")
            raise ZeroDivisionError
        with pytest.raises(AicoMemoryError), transaction.attempt():
            transaction.put_item(an_item(3, "Oslo"), ["lives"], 1)
        with transaction.attempt():
            transaction.count_write(ADA, "s1", HOUR)
    assert texts(store.items([ADA], (), b"", 9)) == ["User lives in Rome"]
    assert store.statement(said(1, "Rome", 1).statement_id) is None
    assert store.search_text(["tea"], view(), 9) == []
    assert store.usage(ADA, "s1", HOUR) == Usage(1, 1)


def test_outlines_hold_no_words(store):
    put(store, an_item(1, entities=("entity://name/anna",), pinned=True, importance=0.3))
    put(store, an_item(2, "x", tier="dormant", valid_until_us=9))
    (outline,) = store.active_outlines(ADA)
    assert (outline.text, outline.entities, outline.fact_key) == ("", (), "")
    assert (outline.memory_id, outline.pinned, outline.importance) == (memory_id(1), True, 0.3)
    assert store.active_count(ADA) == 1

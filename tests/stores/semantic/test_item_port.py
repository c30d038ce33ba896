"""Conformance of the write path's store: the encrypted database and its twin."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aico_memory.domain.gate.explain import Explanation, Outcome, Seen
from aico_memory.domain.gate.policy import PolicyHistory, PolicyVersion, Usage, WritePolicy
from aico_memory.domain.gate.statement import Known
from aico_memory.domain.gate.tagging import Pair, Tag
from aico_memory.domain.graph.edges import Edge
from aico_memory.domain.graph.entities import Entity, Merge
from aico_memory.domain.graph.relations import relate
from aico_memory.domain.memory import OPEN, Evolution
from aico_memory.domain.temporal.versions import Belief
from aico_memory.errors import AicoMemoryError
from aico_memory.stores.semantic.item_port import Interaction
from tests.stores.semantic.test_semantic_store import (
    ADA,
    BEN,
    TEAM,
    OnDisk,
    a_memory,
    evidence_of,
    memory_id,
    view,
)
from tests.support.statements import said

HOUR = 3_600_000_000


def an_item(number, value="Rome", scope=ADA, predicate="home_city", single=True, **fields):
    key = f"user|{predicate}" if single else f"user|{predicate}|{value.casefold()}"
    memory = a_memory(number, f"User lives in {value}", scope, **{"kind": "profile", "fact_key": key, **fields})
    return Known(memory, "user", predicate, value.casefold(), single, value)


def put(store, *items, tokens=("lives",), sequence=1):
    with store.transaction() as transaction:
        return [transaction.put_item(item, tokens, sequence) for item in items]


def texts(found):
    return [one.memory.text for one in found]


def unit(*numbers):
    vector = np.array(numbers, dtype=np.float32)
    return vector / np.linalg.norm(vector)


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


def test_statements_of_a_key_come_in_the_order_of_saying_and_the_oldest_drop_out(store):
    told = [said(number, value, number, scope=ADA) for number, value in ((3, "Bern"), (1, "Rome"), (2, "Oslo"))]
    told.append(said(4, "Rome", 1, scope=BEN))
    with store.transaction() as transaction:
        for one in told:
            transaction.keep_statement(one, "kept")
        transaction.keep_statement(said(9, "Kyiv", 9, scope=ADA), "review")
    assert store.statements(ADA, told[0].key, 9) == [told[1], told[2], told[0]]
    assert store.statements(ADA, told[0].key, 2) == [told[2], told[0]]
    assert store.statement(told[3].statement_id) == (told[3], "kept")
    assert store.statement(bytes(16)) is None
    with store.transaction() as transaction:
        transaction.keep_statement(said(9, "Kyiv", 9, scope=ADA), "kept")
        transaction.drop_statement(told[1].statement_id)
    assert [one.fact.value for one in store.statements(ADA, told[0].key, 9)] == ["Oslo", "Bern", "Kyiv"]


def test_what_refers_to_something_is_told_by_scope_and_time_and_is_no_part_of_a_chain(store):
    late, early, other = said(2, "Oslo", 2, scope=ADA), said(1, "Rome", 1, scope=ADA), said(3, "Bern", 3, scope=BEN)
    with store.transaction() as transaction:
        for one in (late, early, other):
            transaction.keep_statement(one, "referring")
        assert transaction.referring(ADA, 0, 9) == [early, late]
    assert store.referring(ADA, early.said_at_us, 9) == [late]
    assert store.referring(ADA, 0, 1) == [early]
    assert store.statements(ADA, early.key, 9) == []


def test_what_waits_for_sleep_is_told_by_owner_and_event_the_oldest_first(store):
    late, early, other = said(2, "Oslo", 2), said(1, "Rome", 1), said(3, "Bern", 3, scope=BEN, owner="ben")
    with store.transaction() as transaction:
        for one in (late, early, other):
            transaction.keep_statement(one, "sleep")
    assert store.waiting("ada", (), 9) == [] == store.waiting("alice", [bytes(16)], 9)
    assert store.waiting("alice", (), 9) == [early, late]
    assert store.waiting("alice", (), 1) == [early]
    assert store.waiting("alice", [late.event_id], 9) == [late]
    assert store.statements(ADA, early.key, 9) == []


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


def test_a_policy_keeps_its_versions(store):
    history = PolicyHistory((
        PolicyVersion(1, WritePolicy(), 5, "settings"),
        PolicyVersion(2, WritePolicy(mode="manual", kinds=frozenset({"fact", "profile"}), read_only=True), 6, "operator", 1),
    ))  # fmt: skip
    assert store.policy(ADA) is None
    with store.transaction() as transaction:
        transaction.set_policy(ADA, history)
    assert store.policy(ADA) == history
    assert store.policy(BEN) is None


def test_use_is_counted_by_session_and_by_hour(store):
    with store.transaction() as transaction:
        transaction.count_write(ADA, "s1", HOUR)
        transaction.count_write(ADA, "s1", 2 * HOUR - 1)
        transaction.count_write(ADA, "s2", HOUR + 5)
        transaction.count_write(BEN, "s1", HOUR)
    assert store.usage(ADA, "s1", HOUR) == Usage(2, 3)
    assert store.usage(ADA, "s2", 2 * HOUR) == Usage(1, 0)


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
    assert store.pair_counts([memory_id(2)]) == {pair: 2}
    assert store.pair_counts([memory_id(7)]) == {}


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


def test_an_explanation_comes_back_whole_and_to_its_scope_only(store):
    outcome = Outcome(
        memory_id(1), "profile", "assert", "home_city", 0.4, 0.7, (1.0, 0.0, 0.5, 0.0),
        (Seen(memory_id(2), 0.8, True, "another object", "active"),), "admitted", "SUPERSEDE", "more_confident", "why",
        memory_id(2), "SUPERSEDE", "SHADOW", False, (memory_id(1), memory_id(2)),
    )  # fmt: skip
    told = Explanation(memory_id(5), ("emoji",), (("preference", 0.3),), 3, "joy", 0.5, 0.1, "de", True, ("a", "b"), (outcome,))
    with store.transaction() as transaction:
        assert not transaction.explained(memory_id(5))
        transaction.explain(told, ADA, "ada", 10)
        assert transaction.explained(memory_id(5))
    assert store.explanation(memory_id(5), [ADA]) == told
    assert store.explanation(memory_id(5), [BEN]) is None
    assert store.explanations([ADA, BEN], 10, 11, 5) == [told]
    assert store.explanations([ADA], 0, 10, 5) == [] == store.explanations([BEN], 0, 99, 5)
    with store.transaction() as transaction:
        transaction.explain(replace(told, density=4), ADA, "ada", 12)
    assert store.explanation(memory_id(5), [ADA]).density == 4
    with store.transaction() as transaction:
        transaction.forget_before(13, 0)
    assert not store.explained(memory_id(5))


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


def test_strengths_change_without_work_for_the_indexes(store, queue):
    put(store, an_item(1))
    with store.transaction() as transaction:
        memory = transaction.memory(memory_id(1))
        transaction.set_strength(replace(memory, stability=9.0, access_count=4, text="ignored"))
    found = store.known([memory_id(1)], [ADA])[0].memory
    assert (found.stability, found.access_count, found.text) == (9.0, 4, "User lives in Rome")
    assert queue.pending_count() == 1


def test_outlines_hold_no_words(store):
    put(store, an_item(1, entities=("entity://name/anna",), pinned=True, importance=0.3))
    put(store, an_item(2, "x", tier="dormant", valid_until_us=9))
    (outline,) = store.active_outlines(ADA)
    assert (outline.text, outline.entities, outline.fact_key) == ("", (), "")
    assert (outline.memory_id, outline.pinned, outline.importance) == (memory_id(1), True, 0.3)
    assert store.active_count(ADA) == 1


def test_a_session_tells_its_last_records_up_to_a_moment(store):
    with store.transaction() as transaction:
        for number, at in ((1, 100), (2, 300), (3, 200), (4, 300)):
            transaction.add(a_memory(number, f"said {number}", said_at_us=at), (), (), 1)
        transaction.add(a_memory(5, "elsewhere", session_id="s2"), (), (), 1)
    assert store.said_before(ADA, "s1", 300, 3) == [(200, "said 3"), (300, "said 2"), (300, "said 4")]
    assert store.said_before(ADA, "s1", 250, 3) == [(100, "said 1"), (200, "said 3")]
    assert store.said_before(BEN, "s1", 300, 3) == []


def test_no_word_of_the_write_path_stands_readable_in_the_files(on_disk, tmp_path):
    secret = "zanzibarwort"
    item = replace(an_item(1, secret, predicate=secret), subject=secret)
    told = said(1, secret, 1, scope=ADA, owner="ada")
    with on_disk.store.transaction() as transaction:
        transaction.put_item(item, [secret], 1)
        transaction.keep_statement(told, "kept")
        transaction.put_entity(Entity(memory_id(1), ADA, secret, "person", 5), "ada")
        transaction.put_edge(Edge(memory_id(3), ADA, memory_id(1), secret, None, secret, True, 0.8, memory_id(3),
                                  (Belief(5, 5, OPEN),)), "ada")  # fmt: skip
        transaction.keep_interaction(Interaction(ADA, "ada", "i-1", memory_id(50), 10, secret, secret))
        transaction.explain(Explanation(memory_id(5), (), (), 0, "", 0, 0, "", True, (secret,), ()), ADA, "ada", 1)
    plain = on_disk.store.database
    with plain.read() as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        # Beneath the database's own encryption: whoever has its key alone reads no word of a person.
        own = [name for name in names if not name.startswith(("memory_text", "sqlite"))]
        everything = [str(row).encode() for name in own for row in connection.execute(f"SELECT * FROM {name}")]
    assert everything
    assert not [row for row in everything if secret.encode() in row]
    assert on_disk.vault.users.destroy("ada")
    assert on_disk.store.items([ADA], (), b"", 9) == [] == on_disk.store.statements(ADA, told.key, 9)
    assert on_disk.store.entities(ADA) == [] == on_disk.store.edges(ADA)
    assert on_disk.store.explanation(memory_id(5), [ADA]) is None


scoped = st.sampled_from([ADA, BEN, TEAM])
written = st.lists(st.tuples(scoped, st.sampled_from(["Rome", "Oslo"]), st.sampled_from(["active", "superseded"])), max_size=8)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(written=written, asked=scoped)
def test_no_read_of_a_scope_tells_of_another(tmp_path_factory, written, asked):
    place = OnDisk(tmp_path_factory.mktemp("home"))
    try:
        with place.store.transaction() as transaction:
            for number, (scope, value, status) in enumerate(written, 1):
                item = an_item(number, value, scope, valid_until_us=9, status=status, entities=("entity://name/x",))
                transaction.put_item(item, ["lives"], 1)
                transaction.keep_vector(memory_id(number), "m", unit(1, number))
                transaction.keep_statement(said(number, value, number, scope=scope, owner=item.memory.owner), "kept")
                transaction.put_entity(Entity(memory_id(number), scope, value, "place", 5), item.memory.owner)
                transaction.count_write(scope, "s1", HOUR)
        store = place.store
        mine = [number for number, (scope, _, _) in enumerate(written, 1) if scope == asked]
        found = [
            *store.items([asked], (), b"", 99), *store.by_key(asked, "user|home_city"), *store.newest(asked, 99),
            *store.by_predicate(asked, "user", "home_city", 99), *store.by_object(asked, "rome", 99),
            *(one.known for one in store.nearest(asked, "m", unit(1, 1), 99)),
            *store.known([memory_id(number) for number in range(1, 9)], [asked]),
            *store.mentioning(asked, ["entity://name/x"], 99),
        ]  # fmt: skip
        assert {one.memory.scope for one in found} <= {asked}
        assert {one.memory.memory_id for one in store.items([asked], (), b"", 99)} == {memory_id(number) for number in mine}
        assert {one.scope for one in store.statements(asked, said(1, "Rome", 1).key, 99)} <= {asked}
        assert len(store.entities(asked)) == len(store.entities_named(asked, ["rome", "oslo"])) == len(mine)
        assert store.usage(asked, "s1", HOUR).hour_writes == len(mine)
        assert {one.memory_id for one in store.page(view(asked, statuses=("active", "superseded")), b"", 99)} == {
            memory_id(number) for number in mine
        }
    finally:
        place.store.close()

"""Conformance of what is kept of statements: their order, what they refer to, what waits for sleep, how they were explained."""

from dataclasses import replace

import numpy as np

from aico_memory.domain.gate.explain import Explanation, Outcome, Seen
from aico_memory.domain.gate.policy import PolicyHistory, PolicyVersion, WritePolicy
from tests.stores.semantic.memories import ADA, BEN, a_memory, memory_id
from tests.support.statements import said


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


def test_what_a_statement_says_has_its_vector_until_it_goes_or_another_model_takes_over(store, queue):
    rome, oslo = said(1, "Rome", 1, scope=ADA), said(2, "Oslo", 2, scope=ADA)
    with store.transaction() as transaction:
        for one in (rome, oslo):
            transaction.keep_statement(one, "referring")
            transaction.keep_stated_vector(one.statement_id, "m", np.array([0.5, 1], np.float32))
        transaction.keep_stated_vector(bytes(16), "m", np.ones(2, np.float32))
        assert transaction.stated_vector(bytes(16)) is None
        transaction.keep_statement(rome, "kept")
        transaction.keep_stated_vector(rome.statement_id, "n", np.array([1, 0.25], np.float32))
    fingerprint, vector = store.stated_vector(rome.statement_id) or ("", None)
    assert (fingerprint, list(vector)) == ("n", [1, 0.25])
    queue.activate("n")
    assert store.stated_vector(oslo.statement_id) is None is not store.stated_vector(rome.statement_id)
    with store.transaction() as transaction:
        transaction.drop_statement(rome.statement_id)
        transaction.keep_statement(rome, "kept")
    assert store.stated_vector(rome.statement_id) is None


def test_what_is_not_proven_stands_under_its_key_and_is_no_part_of_a_chain_until_it_is_kept(store):
    late, early = said(2, "Oslo", 2, scope=ADA), said(1, "Rome", 1, scope=ADA)
    with store.transaction() as transaction:
        for one in (late, early, said(3, "Bern", 3, scope=BEN)):
            transaction.keep_statement(one, "unproven")
        assert transaction.unproven(ADA, early.key, 9) == [early, late]
    assert store.unproven(ADA, early.key, 1) == [late]
    assert store.unproven(ADA, "another", 9) == store.statements(ADA, early.key, 9) == store.waiting("alice", (), 9) == []
    with store.transaction() as transaction:
        transaction.keep_statement(early, "kept")
    assert (store.unproven(ADA, early.key, 9), store.statements(ADA, early.key, 9)) == ([late], [early])


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


def test_a_pause_is_one_persons_and_holds_until_it_is_ended(store):
    assert store.paused_us("alice") == 0
    with store.transaction() as transaction:
        transaction.pause("alice", 7)
        assert transaction.paused_us("alice") == 7
    assert (store.paused_us("alice"), store.paused_us("ben")) == (7, 0)
    with store.transaction() as transaction:
        transaction.pause("alice", 9)
        transaction.pause("ben", 0)
    assert store.paused_us("alice") == 9
    with store.transaction() as transaction:
        transaction.pause("alice", 0)
    assert store.paused_us("alice") == 0


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


def test_a_session_tells_its_last_records_up_to_a_moment(store):
    with store.transaction() as transaction:
        for number, at in ((1, 100), (2, 300), (3, 200), (4, 300)):
            transaction.add(a_memory(number, f"said {number}", said_at_us=at), (), (), 1)
        transaction.add(a_memory(5, "elsewhere", session_id="s2"), (), (), 1)
        transaction.add(a_memory(6, "deleted", said_at_us=300, status="invalid"), (), (), 1)
        former = a_memory(7, "before the edit", said_at_us=300, status="superseded", version_of=a_memory(4).memory_id)
        transaction.add(former, (), (), 1)
    assert store.said_before(ADA, "s1", 300, 3) == [(200, "said 3"), (300, "said 2"), (300, "said 4")]
    assert store.said_before(ADA, "s1", 250, 3) == [(100, "said 1"), (200, "said 3")]
    assert store.said_before(BEN, "s1", 300, 3) == []

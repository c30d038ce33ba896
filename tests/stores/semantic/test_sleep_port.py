"""Conformance of what sleep reads and writes: the encrypted database and its twin."""

from dataclasses import replace

import numpy as np
import pytest

from aico_memory.domain.gate.statement import Known
from aico_memory.domain.gate.tagging import Pair, Tag
from aico_memory.domain.graph.relations import relate
from aico_memory.domain.memory import Condition, Evolution
from aico_memory.errors import NotFound
from aico_memory.stores.semantic.sleep_port import Crowd, DuePlan, Rested, SleepJob, Tally
from tests.stores.semantic.items import an_item, put
from tests.stores.semantic.memories import ADA, BEN, TEAM, a_memory, memory_id
from tests.support.statements import said

DAY = 86_400_000_000


def plain(number, scope=ADA, **fields):
    return Known(a_memory(number, f"Text {number}", scope, **{"kind": "fact", **fields}))


def ids(found):
    return [int.from_bytes(one.memory_id, "big") for one in found]


def in_use(store, *wanted, after=b"", limit=99, rested=None):
    with store.transaction() as transaction:
        return transaction.outlines(ADA, "ada", wanted, after, limit, rested)


def test_owners_and_what_they_have_are_told_by_name(store):
    put(store, plain(1), plain(2, tier="dormant"), plain(3, status="expired"), plain(4, BEN, owner="ben"))
    with store.transaction() as transaction:
        transaction.add(a_memory(5, "A record", TEAM, owner="cem", created_at_us=77), (), [], 1)
    assert (store.owners("", 2), store.owners("ben", 5), store.owners("cem", 5)) == (["ada", "ben"], ["cem"], [])
    tallies = [one._replace(last_us=0) for one in store.tallies(["ada", "cem"])]
    assert tallies == [
        Tally("ada", "fact", "dormant", "active", 1, 0), Tally("ada", "fact", "episodic", "active", 1, 0),
        Tally("ada", "fact", "episodic", "expired", 1, 0), Tally("cem", "record", "episodic", "active", 1, 0),
    ]  # fmt: skip
    assert store.tallies(["cem"])[0].last_us == 77


def test_the_scopes_of_an_owner_are_those_with_items_in_use(store):
    put(store, plain(1), plain(2, TEAM), plain(3, BEN, owner="ada", status="expired"))
    with store.transaction() as transaction:
        transaction.add(a_memory(4, "A record", BEN, owner="ada"), (), [], 1)
    assert store.owned_scopes("ada") == sorted([ADA, TEAM])
    assert store.owned_scopes("nobody") == []


def test_outlines_are_in_use_without_words_and_page_by_id(store):
    put(
        store, plain(1, utility=0.1), plain(2, tier="dormant", speaker="Ada"), plain(3, status="superseded"),
        plain(4, owner="ben"), plain(5, TEAM), plain(6, pinned=True), plain(7, access_count=4),
    )  # fmt: skip
    assert ids(in_use(store)) == [1, 2, 6, 7]
    assert ids(in_use(store, after=memory_id(1), limit=2)) == [2, 6]
    assert ids(in_use(store, Condition("utility", "lt", 0.2))) == [1]
    assert ids(in_use(store, Condition("pinned", "in", (0,)), Condition("tier", "in", ("episodic", "semantic")))) == [1, 7]
    assert ids(in_use(store, Condition("access_count", "ge", 4), Condition("utility", "ne", 0.1))) == [7]
    (bare,) = in_use(store, Condition("tier", "in", ("dormant",)))
    (full,) = store.known([memory_id(2)], [ADA])
    assert bare == replace(full.memory, text="", entities=(), fact_key="", speaker="")


def test_what_was_applied_lately_is_left_out(store):
    put(store, plain(1), plain(2), plain(3))
    with store.transaction() as transaction:
        transaction.note_applied("decay", {memory_id(1): 10, memory_id(2): 20})
        transaction.note_applied("drift", {memory_id(3): 20})
    assert ids(in_use(store, rested=Rested("decay", 10))) == [1, 3]
    assert ids(in_use(store, rested=Rested("decay", 9))) == [3]
    assert store.applied_count(Rested("decay", 9), ADA, "ada") == 2
    assert store.applied_count(Rested("decay", 10), ADA, "ada") == 1
    assert store.applied_count(Rested("decay", 0), TEAM, "ada") == store.applied_count(Rested("decay", 0), ADA, "ben") == 0


def test_the_weakest_come_first_measured_by_their_stability(store):
    put(
        store, plain(1, stability=1.0, created_at_us=0), plain(2, stability=4.0, created_at_us=0),
        plain(3, stability=1.0, created_at_us=0, last_accessed_us=8 * DAY), plain(4, stability=0.0, created_at_us=0),
        plain(5, stability=0.5, created_at_us=0, tier="dormant"), plain(6, stability=20.0, created_at_us=0),
    )  # fmt: skip
    with store.transaction() as transaction:
        never = Rested("rehearsal", 0)
        assert ids(transaction.waning(ADA, "ada", 10 * DAY, DAY, never, 9)) == [1, 2, 3]
        assert ids(transaction.waning(ADA, "ada", 10 * DAY, DAY, never, 1)) == [1]
        transaction.note_applied("rehearsal", {memory_id(1): 5})
        assert ids(transaction.waning(ADA, "ada", 10 * DAY, DAY, Rested("rehearsal", 4), 9)) == [2, 3]


def test_siblings_share_an_entity_with_so_many_and_what_the_same_decision_moved_still_counts(store):
    tea, milk = ("entity://thing/tea",), ("entity://thing/milk",)
    put(
        store, plain(1, entities=tea), plain(2, entities=tea), plain(3, entities=tea, tier="semantic", updated_at_us=50),
        plain(4, entities=milk), plain(5, entities=milk), plain(6, entities=milk, pinned=True),
        plain(7, entities=milk, owner="ben"), plain(8, entities=tea, tier="dormant"),
    )  # fmt: skip
    with store.transaction() as transaction:
        assert ids(transaction.siblings(ADA, "ada", 3, 50, b"", 9)) == [1, 2]
        assert ids(transaction.siblings(ADA, "ada", 3, 50, memory_id(1), 9)) == [2]
        assert transaction.siblings(ADA, "ada", 3, 51, b"", 9) == []
        assert ids(transaction.siblings(ADA, "ada", 2, 51, b"", 3)) == [1, 2, 4]


def test_a_summary_of_two_items_makes_no_third_sibling_of_itself(store):
    tea = ("entity://thing/tea",)
    put(
        store, plain(1, entities=tea), plain(2, entities=tea),
        plain(3, kind="summary", entities=tea, tier="semantic", updated_at_us=50),
        plain(4, kind="pattern", entities=tea, tier="semantic", updated_at_us=50),
    )  # fmt: skip
    with store.transaction() as transaction:
        assert transaction.siblings(ADA, "ada", 3, 50, b"", 9) == []


def test_pairs_are_due_when_they_were_retrieved_oftener_than_replayed(store):
    put(store, plain(1), plain(2), plain(3), plain(4, status="expired"))
    pairs = [Pair(memory_id(1), memory_id(2)), Pair(memory_id(1), memory_id(4)), Pair(memory_id(2), memory_id(3))]
    with store.transaction() as transaction:
        for _ in range(3):
            transaction.count_pairs(pairs[:2])
        transaction.count_pairs(pairs[2:])
        assert transaction.pairs_due(ADA, "ada", 3, 9) == {pairs[0]: 3}
        assert transaction.pairs_due(ADA, "ada", 1, 1) == {pairs[0]: 3}
        transaction.note_replayed({pairs[0]: 3})
        assert transaction.pairs_due(ADA, "ada", 1, 9) == {pairs[2]: 1}
        transaction.count_pairs(pairs[:1])
        assert transaction.pairs_due(ADA, "ada", 3, 9) == {pairs[0]: 4}
    assert store.pair_counts(pairs[0]) == {pairs[0]: 4}


def test_how_full_a_scope_is_counts_the_awake_and_averages_all_in_use(store):
    assert store.crowd(ADA, "ada") == Crowd(0, 0.0)
    put(store, plain(1, access_count=3), plain(2, tier="dormant"), plain(3, access_count=9, status="expired"), plain(4))
    assert store.crowd(ADA, "ada") == Crowd(2, 1.0)


def test_contradictions_are_between_awake_items_of_which_none_is_a_variant_of_the_other(store):
    put(
        store, plain(1), plain(2), plain(3, variant_of=memory_id(1)), plain(4, tier="dormant"), plain(5, owner="ben"),
        plain(6, owner="ben"),
    )  # fmt: skip
    pairs = [(1, 2), (1, 3), (1, 4), (2, 5), (5, 6)]
    with store.transaction() as transaction:
        transaction.add_relations([relate(memory_id(a), "contradicts", memory_id(b), 0.5, 1) for a, b in pairs])
        transaction.add_relations([relate(memory_id(2), "related_to", memory_id(3), 0.5, 1)])
        first, second = ((memory_id(1), memory_id(2)), (memory_id(2), memory_id(5)))
        assert transaction.contradictions(ADA, "ada", b"", 9) == [first, second]
        assert transaction.contradictions(ADA, "ada", b"", 1) == [first]
        assert transaction.contradictions(ADA, "ada", b"".join(first), 9) == [second]


def test_the_least_useful_go_by_utility_last_use_and_id(store):
    put(
        store, plain(1, utility=0.5), plain(2, utility=0.2), plain(3, utility=0.2, last_accessed_us=9 * DAY),
        plain(4, utility=0.1, pinned=True), plain(5, utility=0.1, access_count=7), plain(6, utility=0.1, kind="plan"),
        plain(7, utility=0.1, tier="dormant"), plain(8, utility=0.1, last_referenced_us=99 * DAY),
        plain(9, utility=0.1, created_at_us=50 * DAY),
    )  # fmt: skip
    by = {"fact": 40 * DAY}
    with store.transaction() as transaction:
        found = transaction.least_useful(ADA, "ada", 2.5, by, 98 * DAY, 9)
        assert ids(found) == [2, 3, 1]
        assert ids(transaction.least_useful(ADA, "ada", 2.5, by, 98 * DAY, 1)) == [2]
        assert ids(transaction.least_useful(ADA, "ada", 9.0, {"plan": 99 * DAY}, 98 * DAY, 9)) == [6]


def test_the_vectors_of_what_is_awake_are_told_in_order(store, queue):
    put(store, plain(1), plain(2), plain(3), plain(4, tier="dormant"), plain(5, version=2))
    close, far = np.array([1, 0], dtype=np.float32), np.array([0, 1], dtype=np.float32)
    assert store.active_fingerprint() == ""
    with store.transaction() as transaction:
        for number in (1, 2, 4, 5):
            transaction.keep_vector(memory_id(number), "m", close)
        transaction.keep_vector(memory_id(3), "m", far)
        transaction.put_item(plain(5, version=3), ["x"], 1)
    assert store.active_fingerprint() == queue.fingerprint() == "m"
    with store.transaction() as transaction:
        found, vectors = transaction.awake_vectors(ADA, "ada", "m")
        assert found == [memory_id(number) for number in (1, 2, 3)]
        assert vectors.tolist() == [close.tolist(), close.tolist(), far.tolist()]
        assert vectors.dtype == np.float32
        nothing, empty = transaction.awake_vectors(ADA, "ada", "other")
        assert (nothing, empty.shape) == ([], (0, 0))


def test_what_was_stated_often_is_told_with_its_reading(store):
    put(store, an_item(1), an_item(2, "tea", predicate="likes", single=False))
    with store.transaction() as transaction:
        for number in range(3):
            transaction.keep_statement(said(10 + number, "Rome", number, scope=ADA, owner="ada"), "kept")
        transaction.keep_statement(said(20, "Rome", 9, scope=ADA, owner="ada"), "review")
        key = said(10, "Rome", 0).key
        transaction.put_item(an_item(3, fact_key=key), ["x"], 1)
    with store.transaction() as transaction:
        assert ids([one.memory for one in transaction.restated(ADA, "ada", 3, b"", 9)]) == [3]
        assert transaction.restated(ADA, "ada", 4, b"", 9) == transaction.restated(ADA, "ada", 3, memory_id(3), 9) == []


def test_what_ended_is_counted_by_how_and_when_it_was_learned(store):
    put(
        store, plain(1, status="superseded", invalidated_at_us=5), plain(2, status="expired", invalidated_at_us=6),
        plain(3, status="expired", invalidated_at_us=9), plain(4, status="expired", invalidated_at_us=6, kind="plan"),
    )  # fmt: skip
    assert store.changed_statuses(ADA, "ada", ["fact"], 5, 9) == {"expired": 1, "superseded": 1}


def test_old_records_are_those_received_and_last_retrieved_before_a_moment(store):
    with store.transaction() as transaction:
        for number, fields in enumerate(
            ({}, {"received_at_us": 500}, {"last_accessed_us": 500}, {"tier": "dormant"}, {"pinned": True}, {"kind": "fact"}), 1
        ):
            transaction.add(a_memory(number, f"Text {number}", said_at_us=9999, **fields), (), [], 1)
    assert ids(store.old_records(ADA, "ada", 200, 9)) == [1]
    assert ids(store.old_records(ADA, "ada", 501, 2)) == [1, 2]
    assert store.old_records(TEAM, "ada", 501, 2) == []


def test_everything_but_the_words_is_stored_by_an_outline(store, queue):
    put(store, an_item(1, "Ağrı"))
    (before,) = store.known([memory_id(1)], [ADA])
    (bare,) = in_use(store)
    queue.settle([one.entry for one in queue.pending(99)])
    with store.transaction() as transaction:
        transaction.put_outline(replace(bare, tier="semantic", sub_tier="factual", confidence=0.3, updated_at_us=99), 8)
        with pytest.raises(NotFound):
            transaction.put_outline(plain(9).memory, 8)
    (after,) = store.known([memory_id(1)], [ADA])
    changed = replace(before.memory, tier="semantic", sub_tier="factual", confidence=0.3, updated_at_us=99)
    assert after == replace(before, memory=changed)
    assert len(queue.pending(99)) == 1 and queue.oldest_pending() == 8


def test_tags_that_ran_out_go_for_one_owner_and_scope(store):
    put(store, plain(1), plain(2), plain(3, owner="ben"))
    with store.transaction() as transaction:
        for number, expires_us in ((1, 10), (2, 11), (3, 10)):
            transaction.put_tag(Tag(memory_id(number), ADA, "s", 1, expires_us))
        assert transaction.drop_tags(ADA, "ada", 10) == 1
        assert transaction.drop_tags(TEAM, "ada", 99) == 0
    assert [one.memory_id for one in store.tags(ADA, "s", 0)] == [memory_id(2), memory_id(3)]


def test_old_records_of_changes_go_so_many_at_a_time(store):
    put(store, plain(1), plain(2, owner="ben"))
    with store.transaction() as transaction:
        for number in range(5):
            cause = number.to_bytes(16, "big")
            transaction.add_evolution(Evolution(memory_id(1), "tier", "a", "b", number, cause))
        transaction.add_evolution(Evolution(memory_id(2), "tier", "a", "b", 0, b"c" * 16))
        assert [transaction.drop_evolution("ada", 4, 3) for _ in range(3)] == [3, 1, 0]
    assert [one.at_us for one in store.evolution(memory_id(1))] == [4]
    assert len(store.evolution(memory_id(2))) == 1


def test_a_job_is_kept_with_what_came_of_it_until_it_is_done(store):
    job = SleepJob(b"e" * 16, "evolve", "f1", 77, "ada")
    later = replace(job, users=2, counts={"seen": 5}, samples=(("decayed", "why", "id"),), errors=("read_only",))
    with store.transaction() as transaction:
        transaction.put_sleep_job(job)
        transaction.put_sleep_job(SleepJob(b"f" * 16, "rehearse", "", 78))
        transaction.put_sleep_job(later)
        assert transaction.sleep_job(b"e" * 16) == later
    assert [one.job for one in store.sleep_jobs()] == ["evolve", "rehearse"]
    with store.transaction() as transaction:
        transaction.finish_sleep_job(b"e" * 16)
    assert store.sleep_job(b"e" * 16) is None


def test_plans_are_due_when_they_begin_or_a_while_before_they_end_and_until_it_was_noted(store):
    plans = [
        plain(1, kind="plan", valid_until_us=100 + 9 * DAY),
        plain(2, BEN, kind="plan", valid_from_us=100 + 7 * DAY, valid_until_us=100 + 20 * DAY),
        plain(3, kind="plan", valid_until_us=100 + DAY // 2),
        plain(4, kind="plan", valid_until_us=100 + 9 * DAY, status="superseded", invalidated_at_us=150),
        plain(5, kind="fact", valid_until_us=100 + DAY),
        plain(6, kind="task_state", valid_from_us=100 + 25 * DAY),
        plain(7, kind="task_state", valid_until_us=100 + DAY),
        plain(8, kind="plan"),
    ]
    put(store, *plans)
    expected = [
        DuePlan(memory_id(3), "ada", 100),
        DuePlan(memory_id(2), "ben", 100 + 7 * DAY),
        DuePlan(memory_id(1), "ada", 100 + 8 * DAY),
        DuePlan(memory_id(6), "ada", 100 + 25 * DAY),
    ]
    with store.transaction() as transaction:
        assert transaction.plans_due(100 + 30 * DAY, DAY, 9) == expected
        assert transaction.plans_due(100 + 30 * DAY, DAY, 1) == expected[:1]
        assert transaction.plans_due(100 + 7 * DAY, DAY, 9) == expected[:2]
        assert transaction.plans_due(99, DAY, 9) == []
        transaction.note_applied("due", {memory_id(2): 5})
        assert transaction.plans_due(100 + 30 * DAY, DAY, 9) == [expected[0], *expected[2:]]

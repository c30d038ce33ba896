"""Conformance of L1: the encrypted database and its twin, memories and what is told of them."""

import sqlite3

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlcipher3 import dbapi2

from aico_memory.domain.memory import OPEN, STATUSES, Evolution, Scope, View, admits, conditions, facets_of
from aico_memory.errors import AicoMemoryError, NotFound
from aico_memory.stores.semantic.rows import SHOWN
from aico_memory.stores.semantic.sql_queue import SqlIndexQueue
from aico_memory.stores.semantic.twin import MemorySemanticStore
from tests.stores.consumer_state_suite import ConsumerStateSuite
from tests.stores.semantic.memories import ADA, BEN, NOW, SCOPES, OnDisk, a_memory, add, evidence_of, memory_id, view


class TestTheConsumerStateOfTheSqlStore(ConsumerStateSuite):
    @pytest.fixture
    def state(self, on_disk):
        return on_disk.store

    @pytest.fixture
    def reopened(self, on_disk):
        return on_disk.reopen


class TestTheConsumerStateOfTheTwin(ConsumerStateSuite):
    @pytest.fixture
    def state(self):
        return MemorySemanticStore()


def test_a_memory_comes_back_as_it_was_stored(store):
    full = a_memory(
        1, "Ich mag Tee — ıöü 東京", session_id="s9", group_id="g", project_id="p", language="de", tier="semantic",
        sub_tier="factual", status="shadow", fact_key="ich mag tee", valid_until_us=900, invalidated_at_us=950,
        temporal_type="time_bounded", superseded_by=memory_id(5), variant_of=memory_id(6), version_of=memory_id(7), version=3,
        confidence=0.7, importance=0.6, utility=0.4, stability=2.5, difficulty=3.5, storage_strength=4.0, access_count=2,
        last_accessed_us=77, reference_count=1, last_referenced_us=78, valence=-0.5, arousal=0.9, emotion="joy", flashbulb=True,
        pinned=True, immutable=True, write_source="manual", data_source="import", source_confidence=0.8,
        entities=("entity://tech/python", "entity://name/anna"), speaker="Ada",
    )  # fmt: skip
    assert add(store, full)
    assert store.get([full.memory_id], [ADA]) == [full]
    with store.transaction() as transaction:
        assert transaction.memory(full.memory_id) == full
        assert transaction.memory(memory_id(99)) is None


def test_the_same_id_is_stored_once_and_changes_nothing(store, queue):
    assert add(store, a_memory(1))
    assert not add(store, a_memory(1, "something else"), ["else"])
    assert [memory.text for memory in store.get([memory_id(1)], [ADA])] == ["I like tea"]
    assert store.search_text(["else"], view(), 5) == []
    assert queue.pending_count() == 1
    assert store.languages([ADA], 5) == ["en"]


def test_a_text_that_was_edited_is_seen_only_as_it_was_known_before_the_edit(store, queue):
    add(store, a_memory(1, "I like coffee", valid_until_us=900))
    former = a_memory(2, "I like tea", status="superseded", valid_until_us=900, invalidated_at_us=300, version_of=memory_id(1))
    add(store, former)
    keys = [entry.key for entry in queue.pending(9)]

    def seen(**moment):
        asked = view(as_of_us=250, **moment)
        found = {memory.text for memory in store.page(asked, b"", 9)}
        assert found == {memory.text for memory in store.admitted(keys, asked).values()}
        assert found == {memory.text for memory in store.admitted(keys, asked, shown=True).values()}
        # What contexts read lately is asked no less.
        assert found == {memory.text for memory in store.admitted(keys, asked, shown=True).values()}
        assert len(store.search_text(["tea"], asked, 9)) == len(found)
        return found

    assert seen() == {"I like coffee"}
    assert seen(known_as_of_us=310) == {"I like coffee"}
    assert seen(known_as_of_us=290) == {"I like coffee", "I like tea"}


def test_what_a_failed_transaction_did_is_gone(store, queue):
    add(store, a_memory(1))
    with pytest.raises(ZeroDivisionError), store.transaction() as transaction:
        transaction.add(a_memory(2), (evidence_of(2),), ["coffee"], 2)
        transaction.replace(a_memory(1, "changed"), ["changed"], 2)
        transaction.note_use([memory_id(1)], ADA, 500)
        transaction.set_cursor(1, 2)
        raise ZeroDivisionError
    assert store.count() == 1
    assert store.get([memory_id(1)], [ADA]) == [a_memory(1)]
    assert store.search_text(["coffee", "changed"], view(), 5) == []
    assert queue.pending_count() == 1
    assert store.cursor() == (0, 0)


def test_a_replaced_memory_is_found_by_its_new_words_only(store, queue):
    add(store, a_memory(1))
    with store.transaction() as transaction:
        transaction.replace(a_memory(1, "I like coffee", version=2), ["coffee"], 2)
    assert store.search_text(["tea"], view(), 5) == []
    assert [hit.key for hit in store.search_text(["coffee"], view(), 5)] == [queue.pending(1)[0].key]
    with store.transaction() as transaction:
        transaction.replace(a_memory(1, "I like coffee", version=2, status="invalid"), None, 3)
    assert len(store.search_text(["coffee"], view(statuses=("invalid",)), 5)) == 1
    with pytest.raises(NotFound), store.transaction() as transaction:
        transaction.replace(a_memory(9), None, 4)


def test_only_one_active_item_holds_a_fact(store):
    add(store, a_memory(1, kind="fact", fact_key="user lives in"))
    with pytest.raises((AicoMemoryError, dbapi2.IntegrityError, sqlite3.IntegrityError)):
        add(store, a_memory(2, kind="fact", fact_key="user lives in"))
    assert add(store, a_memory(3, kind="fact", fact_key="user lives in", status="candidate"))
    assert add(store, a_memory(4, kind="fact", fact_key="user lives in", variant_of=memory_id(1)))
    assert add(store, a_memory(5, kind="fact", fact_key="user lives in", scope=BEN))


def test_evidence_stands_once_a_method_and_event_and_comes_back_whole(store):
    said = evidence_of(1, role="user", name="Ada", said_at_us=90, session_id="s1", metadata_json='{"a": 1}', excerpt="tea")
    add(store, a_memory(1), evidence=(said,))
    with store.transaction() as transaction:
        assert not transaction.add_evidence(said)
        assert transaction.add_evidence(evidence_of(1, method="replay", at_us=500))
        assert transaction.add_evidence(evidence_of(1, event=2, at_us=50))
    found = store.evidence([memory_id(1), memory_id(8)])
    assert found[memory_id(1)] == [evidence_of(1, event=2, at_us=50), said, evidence_of(1, method="replay", at_us=500)]
    assert found[memory_id(8)] == []


def test_evidence_of_nothing_is_refused(store):
    with pytest.raises((NotFound, dbapi2.IntegrityError)), store.transaction() as transaction:
        transaction.add_evidence(evidence_of(1))


def test_the_history_is_told_oldest_first(store):
    add(store, a_memory(1))
    changes = [Evolution(memory_id(1), "text", f"v{at}", f"v{at + 1}", at, memory_id(50 + at), "edited") for at in (3, 1, 2)]
    with store.transaction() as transaction:
        for change in (*changes, changes[0]):
            transaction.add_evolution(change)
    assert store.evolution(memory_id(1)) == sorted(changes, key=lambda change: change.at_us)
    assert store.evolution(memory_id(2)) == []


def test_pages_tell_all_memories_once_in_the_order_in_which_they_were_made(store):
    for number in (3, 1, 5, 2, 4):
        add(store, a_memory(number))
    add(store, a_memory(9, scope=BEN))
    first = store.page(view(), b"", 2)
    rest = store.page(view(), first[-1].memory_id, 10)
    assert [one.memory_id for one in first + rest] == [memory_id(number) for number in (3, 1, 5, 2, 4)]


def test_the_export_tells_one_owner_or_all(store):
    add(store, a_memory(1, status="invalid"))
    add(store, a_memory(2, scope=BEN))
    assert [one.memory_id for one in store.export("ada", b"", 5)] == [memory_id(1)]
    assert [one.memory_id for one in store.export("", b"", 5)] == [memory_id(1), memory_id(2)]
    assert [one.memory_id for one in store.export("", memory_id(1), 5)] == [memory_id(2)]


def test_use_is_counted_for_active_memories_of_the_scope(store):
    add(store, a_memory(1))
    add(store, a_memory(2, status="invalid"))
    add(store, a_memory(3, scope=BEN))
    with store.transaction() as transaction:
        assert transaction.note_use([memory_id(1), memory_id(2), memory_id(3), memory_id(4)], ADA, 700) == 1
        assert transaction.note_use([memory_id(1)], ADA, 600) == 1
    used = store.get([memory_id(1)], [ADA])[0]
    assert (used.access_count, used.last_accessed_us) == (2, 700)
    assert store.get([memory_id(3)], [BEN])[0].access_count == 0


def test_the_languages_of_a_scope_are_named_by_frequency(store):
    for number, language in enumerate(("tr", "de", "de", "", "en", "en", "en"), 1):
        add(store, a_memory(number, language=language))
    add(store, a_memory(9, scope=BEN, language="fr"))
    assert store.languages([ADA], 5) == ["en", "de", "tr"]
    assert store.languages([ADA], 1) == ["en"]
    assert store.languages([Scope("user", "nobody")], 5) == []


moments = st.sampled_from([90, 100, 110, 120])
stored_memories = st.lists(
    st.tuples(
        st.sampled_from(SCOPES), st.sampled_from(STATUSES), st.sampled_from(["record", "fact"]), st.sampled_from(["s1", "s2"]),
        moments, moments | st.just(OPEN), moments | st.just(OPEN), st.lists(st.sampled_from("abc"), min_size=1, max_size=3),
    ),
    max_size=12,
)  # fmt: skip
asked_views = st.builds(
    lambda scopes, statuses, kinds, session, times: View(tuple(scopes), NOW, kinds, (), statuses, session, *times),
    st.lists(st.sampled_from(SCOPES), max_size=3, unique=True), st.sampled_from([(), ("active", "invalid")]),
    st.sampled_from([(), ("fact",)]), st.sampled_from(["", "s1"]), st.tuples(*(st.just(0) | moments for _ in range(4))),
)  # fmt: skip


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stored=stored_memories, asked=asked_views, words=st.lists(st.sampled_from("abc"), min_size=1, max_size=3))
def test_no_read_tells_what_its_view_does_not_admit(tmp_path_factory, stored, asked, words):
    place = OnDisk(tmp_path_factory.mktemp("home"))
    memories = [
        a_memory(number, scope=scope, status=status, kind=kind, session_id=session, said_at_us=said, valid_from_us=said,
                 recorded_at_us=said, valid_until_us=until, invalidated_at_us=gone)
        for number, (scope, status, kind, session, said, until, gone, _) in enumerate(stored, 1)
    ]  # fmt: skip
    try:
        for store in (place.store, MemorySemanticStore()):
            queue = SqlIndexQueue(store) if store is place.store else store
            for memory, line in zip(memories, stored, strict=True):
                add(store, memory, line[-1])
            keys = {memory.memory_id: entry.key for memory, entry in zip(memories, queue.pending(99), strict=True)}
            wanted = conditions(asked)
            seen = {one.memory_id for one in memories if one.scope in asked.scopes and admits(wanted, facets_of(one))}
            assert {one.memory_id for one in store.page(asked, b"", 99)} == seen
            admitted = store.admitted(list(keys.values()), asked)
            assert {one.memory_id for one in admitted.values()} == seen
            shown = store.admitted(list(keys.values()), asked, shown=True)
            assert list(shown) == list(admitted)
            for key, one in shown.items():
                assert [getattr(one, name) for name in (*SHOWN, "text")] == [
                    getattr(admitted[key], name) for name in (*SHOWN, "text")
                ]
            with_words = {one.memory_id for one, line in zip(memories, stored, strict=True) if set(line[-1]) & set(words)}
            hits = store.search_text(words, asked, 99)
            assert {hit.key for hit in hits} == {keys[one] for one in seen & with_words}
            inside = {one.memory_id for one in memories if one.scope in asked.scopes}
            assert {one.memory_id for one in store.get(list(keys), asked.scopes)} == inside
    finally:
        place.store.close()

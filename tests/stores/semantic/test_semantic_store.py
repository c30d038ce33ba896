"""Conformance of L1: the encrypted database and its twin, memories and index queue."""

import sqlite3
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlcipher3 import dbapi2

from aico_memory.domain.memory import OPEN, STATUSES, Evidence, Evolution, Memory, Scope, View, admits, conditions, facets_of
from aico_memory.errors import AicoMemoryError, NotFound, WrongKey
from aico_memory.paths import Home
from aico_memory.settings.security import SecuritySettings
from aico_memory.stores.semantic.port import IndexJob, KeptVector
from aico_memory.stores.semantic.sql_queue import SqlIndexQueue
from aico_memory.stores.semantic.sql_store import SqlSemanticStore
from aico_memory.stores.semantic.twin import MemorySemanticStore
from aico_memory.vault.master import open_vault
from tests.stores.consumer_state_suite import ConsumerStateSuite

ADA, BEN, TEAM = Scope("user", "ada"), Scope("user", "ben"), Scope("group", "team")
SCOPES = (ADA, BEN, TEAM)
NOW = 1000


def memory_id(number):
    return number.to_bytes(16, "big")


def a_memory(number, text="I like tea", scope=ADA, **fields):
    fields = {
        "said_at_us": 100, "recorded_at_us": 100, "valid_from_us": 100, "created_at_us": 100, "updated_at_us": 100,
        "received_at_us": 101, "kind": "record", "session_id": "s1", "language": "en", **fields,
    }  # fmt: skip
    owner = scope.id if scope.kind == "user" else "ada"
    return Memory(memory_id=memory_id(number), scope=scope, owner=owner, text=text, **fields)


def evidence_of(number, event=1, **fields):
    return Evidence(
        memory_id(number), memory_id(1000 + event), fields.pop("method", "rule"), fields.pop("at_us", 100), **fields
    )


def view(*scopes, **fields):
    return View(scopes=scopes or (ADA,), now_us=NOW, **fields)


class OnDisk:
    """A home with a vault, in which the store can be opened again."""

    def __init__(self, root):
        self.home = Home(root)
        self.home.ensure()
        self.vault = open_vault(self.home, SecuritySettings(), {})
        self.store = self.open()

    def open(self):
        key = self.vault.store_key("semantic")
        return SqlSemanticStore.open(self.home.store("semantic"), key, self.vault.users, partial(self.vault.digest, "semantic"))

    def reopen(self):
        self.store.close()
        self.store = self.open()
        return self.store


def add(store, memory, tokens=("tea",), evidence=(), sequence=1):
    with store.transaction() as transaction:
        return transaction.add(memory, evidence, tokens, sequence)


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
            with_words = {one.memory_id for one, line in zip(memories, stored, strict=True) if set(line[-1]) & set(words)}
            hits = store.search_text(words, asked, 99)
            assert {hit.key for hit in hits} == {keys[one] for one in seen & with_words}
            inside = {one.memory_id for one in memories if one.scope in asked.scopes}
            assert {one.memory_id for one in store.get(list(keys), asked.scopes)} == inside
    finally:
        place.store.close()


def test_the_outbox_is_worked_off_oldest_first(store, queue):
    for number in range(1, 4):
        add(store, a_memory(number), sequence=10 * number)
    assert queue.oldest_pending() == 10
    first, second, third = queue.pending(9)
    queue.settle([first.entry, third.entry])
    assert queue.oldest_pending() == 20
    assert queue.pending(9) == [second]
    queue.settle([second.entry])
    assert (queue.oldest_pending(), queue.pending_count()) == (0, 0)


def test_a_vector_stands_for_the_text_of_its_version(store, queue):
    add(store, a_memory(1))
    key = queue.pending(1)[0].key
    assert [(one.key, one.version, one.text) for one in queue.unembedded([key, 99], "m")] == [(key, 1, "I like tea")]
    assert queue.missing("m", 0, 9) == [key]
    queue.keep("m", [KeptVector(key, 1, np.array([0.6, 0.8], dtype=np.float32)), KeptVector(99, 1, np.zeros(2, np.float32))])
    assert queue.fingerprint() == "m"
    assert queue.unembedded([key], "m") == [] == queue.missing("m", 0, 9)
    (entry,) = queue.entries("m", [key, 99])
    assert (entry.key, entry.scope, entry.facets) == (key, ADA, facets_of(a_memory(1)))
    assert entry.vector == pytest.approx([0.6, 0.8], abs=1e-3)
    with store.transaction() as transaction:
        transaction.replace(a_memory(1, "I like coffee", version=2), ["coffee"], 2)
    assert queue.entries("m", [key]) == [] == queue.entries("other", [key])
    assert [one.version for one in queue.unembedded([key], "m")] == [2]
    assert queue.vectors("m").size() == 0


def test_another_model_never_overwrites_the_vectors_of_the_active_one(store, queue):
    add(store, a_memory(1))
    add(store, a_memory(2, scope=BEN))
    one, two = (entry.key for entry in queue.pending(9))
    queue.keep("m", [KeptVector(one, 1, np.array([1, 0], np.float32)), KeptVector(two, 1, np.array([0, 1], np.float32))])
    queue.keep("n", [KeptVector(one, 1, np.array([0, 0, 1], np.float32))])
    assert queue.fingerprint() == "m"
    assert list(queue.entries("m", [one])[0].vector) == [1, 0]
    assert queue.missing("n", 0, 9) == [two]
    source = queue.vectors("m")
    assert (source.size(), source.size(ADA), source.size(TEAM)) == (2, 1, 0)
    assert [[entry.key for entry in batch] for batch in source.batches(None, 1)] == [[one], [two]]
    assert [[entry.key for entry in batch] for batch in source.batches(BEN, 5)] == [[two]]
    queue.activate("n")
    assert queue.fingerprint() == "n"
    assert queue.vectors("m").size() == 0
    assert queue.vectors("n").size() == 1


def test_maintenance_is_remembered_until_it_is_finished(store, queue):
    job = IndexJob(memory_id(1), "firing", True)
    with store.transaction() as transaction:
        transaction.add_job(job)
        transaction.add_job(job)
        transaction.add_job(IndexJob(memory_id(2), "", False))
    assert queue.job() == job
    queue.advance_job(replace(job, stage="vectors", after_row=7))
    assert queue.job() == replace(job, stage="vectors", after_row=7)
    with store.transaction() as transaction:
        transaction.finish_job(memory_id(1))
    assert queue.job() == IndexJob(memory_id(2), "", False)


def test_words_can_be_made_anew_row_by_row(store, queue):
    for number in range(1, 4):
        add(store, a_memory(number))
    rows = queue.rows_after(0, 2)
    assert [memory.memory_id for _, memory in rows] == [memory_id(1), memory_id(2)]
    queue.put_tokens([(key, memory.scope, ["fresh"]) for key, memory in rows])
    assert [hit.key for hit in store.search_text(["fresh"], view(), 9)] == [key for key, _ in rows]
    assert len(store.search_text(["tea"], view(), 9)) == 1
    assert [memory.memory_id for _, memory in queue.rows_after(rows[-1][0], 9)] == [memory_id(3)]


def test_everything_is_there_after_the_store_was_opened_again(on_disk):
    add(on_disk.store, a_memory(1), evidence=(evidence_of(1, name="Ada"),))
    queue = SqlIndexQueue(on_disk.store)
    queue.keep("m", [KeptVector(queue.pending(1)[0].key, 1, np.array([1, 0], np.float32))])
    store = on_disk.reopen()
    queue = SqlIndexQueue(store)
    assert store.get([memory_id(1)], [ADA]) == [a_memory(1)]
    assert store.evidence([memory_id(1)])[memory_id(1)][0].name == "Ada"
    assert (queue.fingerprint(), queue.pending_count(), queue.vectors("m").size()) == ("m", 1, 1)
    assert len(store.search_text(["tea"], view(), 5)) == 1


def test_no_word_stands_readable_in_the_files(on_disk, tmp_path):
    secret = "zanzibarwort"
    memory = a_memory(1, f"my {secret}", session_id=secret, entities=(f"entity://name/{secret}",), fact_key=secret)
    add(on_disk.store, memory, [secret], (evidence_of(1, name=secret, metadata_json=secret),))
    with on_disk.store.transaction() as transaction:
        transaction.add_evolution(Evolution(memory_id(1), "text", secret, secret, 1, memory_id(2), secret))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if secret.encode() in path.read_bytes()]


def test_a_destroyed_user_key_takes_the_text_with_it_and_nothing_else(on_disk):
    store, queue = on_disk.store, SqlIndexQueue(on_disk.store)
    add(store, a_memory(1), evidence=(evidence_of(1, name="Ada"),))
    add(store, a_memory(2, scope=BEN))
    key = queue.pending(1)[0].key
    assert on_disk.vault.users.destroy("ada")
    assert store.get([memory_id(1)], [ADA]) == [] == store.page(view(), b"", 9)
    assert store.evidence([memory_id(1)])[memory_id(1)] == []
    assert [(one.key, one.text) for one in queue.unembedded([key], "m")] == [(key, None)]
    assert [memory.memory_id for memory in store.page(view(BEN), b"", 9)] == [memory_id(2)]
    # A key made anew does not bring the old text back.
    add(store, a_memory(3, "new words"))
    assert [memory.text for memory in store.page(view(), b"", 9)] == ["new words"]


def test_a_wrong_key_opens_nothing_and_touches_nothing(on_disk):
    on_disk.store.close()
    folder = on_disk.home.store("semantic")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(WrongKey):
        SqlSemanticStore.open(folder, bytes(32), on_disk.vault.users, lambda text: b"")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before

"""Conformance of the queue that the indexes are worked off from: vectors, their versions and models, words made anew."""

from dataclasses import replace

import numpy as np
import pytest

from aico_memory.domain.memory import facets_of
from aico_memory.stores.semantic.port import IndexJob, KeptVector
from tests.stores.semantic.memories import ADA, BEN, TEAM, a_memory, add, memory_id, view


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


def test_a_vector_that_comes_late_takes_the_place_of_none_that_a_transaction_kept(store, queue):
    add(store, a_memory(1))
    key = queue.pending(1)[0].key
    queue.keep("m", [KeptVector(key, 1, np.array([1, 0], np.float32))])
    with store.transaction() as transaction:
        transaction.replace(a_memory(1, "I like coffee", version=2), ["coffee"], 2)
        transaction.keep_vector(memory_id(1), "m", np.array([0, 1], np.float32))
    for version in (1, 2):
        queue.keep("m", [KeptVector(key, version, np.array([0.5, 0.5], np.float32))])
    assert [list(one.vector) for one in queue.entries("m", [key])] == [[0, 1]]


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

"""What is particular to the exact index: bounded memory, reading on demand, changes while it reads."""

import threading

import numpy as np

from aico_memory.domain.memory import Scope
from aico_memory.stores.index.exact import ExactVectorIndex
from aico_memory.stores.index.naive import KeptSource
from tests.stores.index.test_vector_index import Truth, entry, keys, view

QUESTION = np.array([0, 1, 0], dtype=np.float32)


def test_scopes_asked_for_longest_ago_leave_the_memory_first_and_come_back():
    truth = Truth()
    scopes = [Scope("user", f"u{number}") for number in range(6)]
    for number, scope in enumerate(scopes):
        truth.put(*(entry(number * 100 + key, [1, key, 0], scope) for key in range(1, 51)))
    index = ExactVectorIndex(truth.source, cache_bytes=10_000, load_batch=20)
    for scope in scopes:
        assert len(index.search(QUESTION, view(scope), 5)) == 5
        assert index.status()["bytes"] <= 10_000
    assert index.status()["scopes"] < 6
    assert keys(index.search(QUESTION, view(scopes[0]), 1)) == [50]
    assert index.status()["loads"] == 7


def test_a_scope_larger_than_the_bound_is_answered_all_the_same():
    truth = Truth()
    truth.put(*(entry(key, [1, key, 0]) for key in range(1, 51)))
    index = ExactVectorIndex(truth.source, cache_bytes=100, load_batch=20)
    assert keys(index.search(QUESTION, view(), 1)) == [50]


def test_a_change_that_comes_while_a_scope_is_read_is_not_lost():
    truth = Truth()
    truth.put(*(entry(key, [1, key, 0]) for key in range(1, 10)))
    reading, go_on = threading.Event(), threading.Event()

    class SlowSource(KeptSource):
        def batches(self, scope, limit):
            found = [list(batch) for batch in super().batches(scope, limit)]
            reading.set()
            assert go_on.wait(60)
            yield from found

    index = ExactVectorIndex(SlowSource(lambda: list(truth.entries.values())), 1 << 20, 3)
    asking = threading.Thread(target=index.search, args=(QUESTION, view(), 1))
    asking.start()
    assert reading.wait(60)
    changing = threading.Thread(target=index.upsert, args=(truth.put(entry(77, [0, 1, 0])),))
    changing.start()
    go_on.set()
    asking.join(60)
    changing.join(60)
    assert keys(index.search(QUESTION, view(), 1)) == [77]
    assert index.verify() == []


def test_searches_and_changes_at_the_same_time_see_whole_vectors():
    truth = Truth()
    truth.put(*(entry(key, [0, 1, 0]) for key in range(1, 200)))
    index = ExactVectorIndex(truth.source, 1 << 20, 50)
    index.search(QUESTION, view(), 1)
    done = threading.Event()

    def change():
        for turn in range(200):
            key = 1 + turn % 300
            index.upsert(truth.put(entry(key, [0, 1, 0] if turn % 2 else [0, 0, 1])))
        done.set()

    changing = threading.Thread(target=change)
    changing.start()
    scores = set()
    while not done.is_set():
        scores.update(round(one.score, 4) for one in index.search(QUESTION, view(), 500))
    changing.join(60)
    assert scores <= {0.0, 1.0}

"""Conformance of the vector index: the twin, the exact one, Chroma, and the choice between the two."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aico_memory.domain.memory import OPEN, STATUSES, Facets, Scope, View, admits, conditions
from aico_memory.stores.index.auto import AutoVectorIndex
from aico_memory.stores.index.chroma import ChromaVectorIndex
from aico_memory.stores.index.exact import ExactVectorIndex
from aico_memory.stores.index.naive import KeptSource, NaiveVectorIndex
from aico_memory.stores.index.vector_port import VectorEntry, unit

ADA, BEN, ALL = Scope("user", "ada"), Scope("user", "ben"), Scope("global", "")
SCOPES = (ADA, BEN, ALL)
PLAIN = Facets("record", "episodic", "active", "s1", 100, 100, OPEN, 100, OPEN)
NOW = 1000


def entry(key, vector, scope=ADA, **facets):
    return VectorEntry(key, scope, PLAIN._replace(**facets), np.asarray(vector, dtype=np.float32))


def view(*scopes, **fields):
    return View(scopes=scopes or (ADA,), now_us=NOW, **fields)


class Truth:
    """The owner's store: what the index is derived from."""

    def __init__(self):
        self.entries = {}
        self.source = KeptSource(lambda: list(self.entries.values()))

    def put(self, *entries):
        self.entries.update((one.key, one) for one in entries)
        return entries


def exact(source):
    return ExactVectorIndex(source, cache_bytes=1 << 30, load_batch=3)


def chroma(source):
    index = ChromaVectorIndex(source, "model|3|abc", load_batch=3)
    index.verify()
    return index


def auto(source):
    index = AutoVectorIndex(source, exact(source), lambda: ChromaVectorIndex(source, "model|3|abc", load_batch=3), limit=2)
    # Larger than the limit, so that from here on the large index takes part.
    index.search(np.ones(3, dtype=np.float32), view(*SCOPES), 1)
    index.wait_built(30.0)
    return index


@pytest.fixture(params=[NaiveVectorIndex, exact, chroma, auto], ids=["naive", "exact", "chroma", "auto"])
def opened(request):
    indexes = []

    def open_on(truth):
        indexes.append(request.param(truth.source))
        return indexes[-1]

    yield open_on
    for index in indexes:
        index.close()


def keys(found):
    return [one.key for one in found]


def test_the_nearest_by_cosine_comes_first(opened):
    truth = Truth()
    truth.put(entry(1, [1, 0, 0]), entry(2, [5, 5, 0]), entry(3, [0, 0, 2]))
    found = opened(truth).search(np.array([2.0, 1.0, 0.0], dtype=np.float32), view(), 10)
    assert keys(found) == [2, 1, 3]
    assert [one.score for one in found] == pytest.approx([3 / 10**0.5, 2 / 5**0.5, 0.0], abs=1e-5)


def test_no_more_than_the_limit_is_answered(opened):
    truth = Truth()
    truth.put(*(entry(key, [1, key, 0]) for key in range(1, 9)))
    index = opened(truth)
    assert keys(index.search(np.array([0, 1, 0], dtype=np.float32), view(), 3)) == [8, 7, 6]
    assert index.search(np.array([0, 1, 0], dtype=np.float32), view(), 0) == []


def test_an_empty_scope_answers_nothing(opened):
    assert opened(Truth()).search(np.ones(3, dtype=np.float32), view(), 5) == []


@pytest.mark.parametrize(("wanted", "expected"), [
    ({}, [1, 2]),
    ({"statuses": ("superseded",)}, [3, 6]),
    ({"statuses": ("active", "superseded")}, [1, 2, 3, 6]),
    ({"kinds": ("fact",)}, [2]),
    ({"kinds": ("no such kind",)}, []),
    ({"tiers": ("semantic",)}, [2]),
    ({"session_id": "s2"}, [2]),
    ({"since_us": 101}, [2]),
    ({"until_us": 150}, [1]),
    ({"since_us": 100, "until_us": 100}, []),
    ({"as_of_us": 120}, [1, 3, 5]),
    ({"as_of_us": 135}, [1, 3]),
    ({"as_of_us": 150}, [1, 2]),
    ({"known_as_of_us": 105}, [1, 3, 4, 6]),
    ({"known_as_of_us": 120}, [1, 3, 6]),
    ({"known_as_of_us": 145}, [1]),
    ({"as_of_us": 120, "known_as_of_us": 130}, [1, 3, 5, 6]),
    ({"as_of_us": 170, "known_as_of_us": 130}, [1, 3, 6]),
    ({"as_of_us": 170, "known_as_of_us": 160}, [1, 2]),
    ({"as_of_us": 120, "statuses": ("superseded",)}, [3]),
])  # fmt: skip
def test_a_view_hides_what_it_does_not_admit(opened, wanted, expected):
    truth = Truth()
    truth.put(
        entry(1, [1, 0, 0]),
        entry(2, [1, 0.1, 0], kind="fact", tier="semantic", session_id="s2", said_at_us=150, valid_from_us=150,
              recorded_at_us=150),
        # A change that was learned at 140, a deletion, what ended by itself, and the text of before an edit.
        entry(3, [1, 0.2, 0], status="superseded", valid_until_us=150, invalidated_at_us=140, said_at_us=99),
        entry(4, [1, 0.3, 0], status="invalid", invalidated_at_us=110),
        entry(5, [1, 0.4, 0], status="expired", valid_until_us=130, invalidated_at_us=130, said_at_us=99),
        entry(6, [1, 0.5, 0], status="superseded", invalidated_at_us=140, said_at_us=99),
    )  # fmt: skip
    found = keys(opened(truth).search(np.array([1, 0, 0], dtype=np.float32), view(**wanted), 10))
    # What has no validity any more is seen only by name or in the past.
    assert found == expected


def test_what_is_put_again_is_replaced(opened):
    truth = Truth()
    truth.put(entry(1, [1, 0, 0]), entry(2, [0, 1, 0]))
    index = opened(truth)
    question = np.array([0, 1, 0], dtype=np.float32)
    assert keys(index.search(question, view(), 2)) == [2, 1]
    index.upsert(truth.put(entry(1, [0, 1, 0.01]), entry(2, [0, 1, 0], status="invalid"), entry(3, [0, 1, 1])))
    assert keys(index.search(question, view(), 5)) == [1, 3]
    assert index.verify() == []


def test_what_is_removed_is_found_no_more(opened):
    truth = Truth()
    truth.put(*(entry(key, [1, key, 0]) for key in range(1, 6)))
    index = opened(truth)
    question = np.array([0, 1, 0], dtype=np.float32)
    assert keys(index.search(question, view(), 9)) == [5, 4, 3, 2, 1]
    del truth.entries[5], truth.entries[2]
    index.remove(ADA, [5, 2, 77])
    index.remove(BEN, [4])
    assert keys(index.search(question, view(), 9)) == [4, 3, 1]
    assert index.verify() == []


def test_an_index_that_lost_vectors_says_so_and_mends_itself(opened):
    truth = Truth()
    truth.put(*(entry(key, [1, key, 0]) for key in range(1, 6)))
    index = opened(truth)
    question = np.array([0, 1, 0], dtype=np.float32)
    index.search(question, view(), 9)
    truth.put(entry(9, [0, 1, 0]))
    assert index.verify() != []
    assert keys(index.search(question, view(), 1)) == [9]
    assert index.verify() == []


def test_a_rebuilt_index_answers_as_before(opened):
    truth = Truth()
    truth.put(*(entry(key, [1, key, 0]) for key in range(1, 6)))
    index = opened(truth)
    question = np.array([0, 1, 0], dtype=np.float32)
    before = index.search(question, view(), 9)
    index.rebuild()
    assert keys(index.search(question, view(), 9)) == keys(before)


coordinates = st.lists(st.integers(-5, 5), min_size=3, max_size=3).filter(any)
moments = st.sampled_from([90, 100, 110, 120, 130])
entries = st.lists(
    st.builds(
        lambda vector, scope, status, kind, session, said, until, gone: (vector, scope, {
            "status": status, "kind": kind, "session_id": session, "said_at_us": said, "valid_from_us": said,
            "recorded_at_us": said, "valid_until_us": until, "invalidated_at_us": gone,
        }),
        coordinates, st.sampled_from(SCOPES), st.sampled_from(STATUSES), st.sampled_from(["record", "fact"]),
        st.sampled_from(["s1", "s2"]), moments, moments | st.just(OPEN), moments | st.just(OPEN),
    ),
    max_size=25,
)  # fmt: skip
views = st.builds(
    lambda scopes, statuses, kinds, session, since, until, as_of, known: View(
        tuple(scopes), NOW, kinds, (), statuses, session, since, until, as_of, known
    ),
    st.lists(st.sampled_from(SCOPES), min_size=1, max_size=3, unique=True),
    st.sampled_from([(), ("active",), ("active", "superseded")]),
    st.sampled_from([(), ("fact",), ("record", "fact")]),
    st.sampled_from(["", "s1"]), *(st.just(0) | moments for _ in range(4)),
)  # fmt: skip


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stored=entries, asked=views, question=coordinates)
def test_no_scope_sees_another_and_no_view_sees_more_than_it_admits(opened, stored, asked, question):
    truth = Truth()
    truth.put(*(entry(key, vector, scope, **facets) for key, (vector, scope, facets) in enumerate(stored, 1)))
    index = opened(truth)
    vector = np.array(question, dtype=np.float32)
    found = index.search(vector, asked, 100)
    wanted = conditions(asked)
    allowed = {
        one.key: float(unit(one.vector) @ unit(vector))
        for one in truth.entries.values()
        if one.scope in asked.scopes and admits(wanted, one.facets)
    }
    assert {one.key for one in found} == set(allowed)
    assert [one.score for one in found] == pytest.approx([allowed[one.key] for one in found], abs=1e-3)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    index.close()


def test_facets_that_change_are_seen_at_once(opened):
    truth = Truth()
    first = entry(1, [1, 0, 0])
    truth.put(first, entry(2, [0, 1, 0]), entry(3, [0, 0, 1]))
    index = opened(truth)
    question = np.array([1, 0, 0], dtype=np.float32)
    assert keys(index.search(question, view(), 1)) == [1]
    index.upsert(truth.put(replace(first, facets=first.facets._replace(status="invalid", invalidated_at_us=500))))
    assert 1 not in keys(index.search(question, view(), 3))
    assert keys(index.search(question, view(known_as_of_us=400), 1)) == [1]


def test_vectors_at_hand_are_those_of_the_scope_in_length_1(opened):
    truth = Truth()
    truth.put(entry(1, [3, 4, 0]), entry(2, [0, 0, 2]), entry(3, [1, 0, 0], BEN))
    index = opened(truth)
    index.search(np.ones(3, dtype=np.float32), view(ADA), 3)
    found = index.at_hand([2, 1, 3, 99], ADA)
    # Whoever would have to be asked for them has none at hand.
    assert set(found) in ({1, 2}, set())
    assert all(np.allclose(found[key], unit(truth.entries[key].vector)) for key in found)
    index.remove(ADA, [1])
    assert 1 not in index.at_hand([1, 2], ADA)


def test_the_exact_index_has_vectors_at_hand_once_it_was_asked():
    truth = Truth()
    truth.put(entry(1, [3, 4, 0]), entry(2, [0, 0, 2]))
    index = exact(truth.source)
    assert index.at_hand([1, 2], ADA) == {}
    index.similarities([np.ones(3, dtype=np.float32)], view(ADA), 3)
    assert list(index.at_hand([2, 1], ADA)) == [2, 1]
    index.upsert(truth.put(entry(1, [0, 1, 0])))
    assert index.at_hand([1], ADA)[1].tolist() == [0, 1, 0]

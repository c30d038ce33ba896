"""One suite for the ledger and the labels, in the databases of their owners and in the twins."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import pytest

from aico_memory.domain.behavioral.records import PriorRecord
from aico_memory.domain.guardrails.adjustment import Adjustment
from aico_memory.domain.guardrails.labels import RankingLabel, ReviewLabel
from aico_memory.domain.guardrails.objectives import Score
from aico_memory.stores.behavioral.sql_store import SqlBehavioralStore
from aico_memory.stores.behavioral.twin import MemoryBehavioralStore
from aico_memory.stores.semantic.twin import MemorySemanticStore
from tests.stores.semantic.memories import OnDisk

ENTRY = Adjustment(
    "0198c0de-0000-7000-8000-000000000001", "write_policy", "v2", "v1", "proposed", "why", 5, before=Score(0.5, 1, 2, 0.1, 9),
    after=Score(0.6, 1, 2, 0.0, 9), drift={"kinds": 0.9}, changed=3, samples=("one", "other"),
    snapshot={"list": ["ä", 1]}, body={"x": {"y": 0.25}},
    seen={"kinds": {"fact": 3.0}}, seen_success=0.5,
)  # fmt: skip
LABEL = RankingLabel("q1", "ana", 7, ("a", "b"), ((0.5, 0.25), (1.0, 2.0)), (0,), (1,), ("fact", "plan"), ("semantic",) * 2)


@pytest.fixture(params=["behavioral", "behavioral twin", "semantic", "semantic twin"])
def writing(request, tmp_path):
    """Opens a transaction of a store that keeps a ledger."""
    if request.param.startswith("behavioral"):
        twin = request.param.endswith("twin")
        store = MemoryBehavioralStore() if twin else SqlBehavioralStore.open(tmp_path, bytes(32))
        yield lambda: _within(store)
        store.close()
    elif request.param == "semantic":
        place = OnDisk(tmp_path / "home")
        yield place.store.transaction
        place.store.close()
    else:
        yield MemorySemanticStore().transaction


@contextmanager
def _within(store):
    with store.state.transaction() as transaction:
        yield store.within(transaction)


def test_entries_come_back_equal_newest_first_and_change_in_their_place(writing):
    other = replace(ENTRY, adjustment_id="b", subject="ranking_profile", status="applied")
    with writing() as rows:
        rows.ledger().put_adjustment(ENTRY)
        rows.ledger().put_adjustment(other)
        assert rows.ledger().adjustments() == [other, ENTRY]
    with writing() as rows:
        ledger = rows.ledger()
        assert ledger.adjustments("write_policy") == [ENTRY]
        assert ledger.adjustments(limit=1) == [other]
        assert ledger.applied("write_policy") is None and ledger.applied("ranking_profile") == other
        changed = replace(ENTRY, status="applied", applied_us=9)
        ledger.put_adjustment(changed)
        assert ledger.adjustments() == [other, changed]
        assert ledger.adjustment(ENTRY.adjustment_id) == changed == ledger.applied("write_policy")
        assert ledger.adjustment("nothing") is None


def test_what_is_rolled_back_with_its_transaction_was_never_there(writing):
    with pytest.raises(RuntimeError), writing() as rows:
        rows.ledger().put_adjustment(ENTRY)
        raise RuntimeError
    with writing() as rows:
        assert rows.ledger().adjustments() == []


def test_the_oldest_go_beyond_what_is_kept_but_never_what_holds(writing):
    with writing() as rows:
        ledger = rows.ledger()
        ledger.put_adjustment(replace(ENTRY, adjustment_id="first", status="applied"), 2)
        ledger.put_adjustment(replace(ENTRY, adjustment_id="foreign", subject="other"), 2)
        for number in range(5):
            ledger.put_adjustment(replace(ENTRY, adjustment_id=f"n{number}", status="refused"), 2)
        assert [one.adjustment_id for one in ledger.adjustments("write_policy")] == ["n4", "n3", "first"]
        assert len(ledger.adjustments("other")) == 1


@pytest.fixture(params=["sql", "twin"])
def semantic(request, tmp_path):
    if request.param == "twin":
        yield MemorySemanticStore()
        return
    place = OnDisk(tmp_path / "home")
    yield place.store
    place.store.close()


def test_labels_of_reviews_keep_the_last_word_newest_first(semantic):
    one, other = ReviewLabel(b"a" * 16, 5, "fact", 0.5, True), ReviewLabel(b"b" * 16, 6, "plan", 0.75, False)
    with semantic.transaction() as transaction:
        transaction.labels().put_review(one)
        transaction.labels().put_review(other)
        transaction.labels().put_review(replace(one, promoted=False))
    with semantic.reading_labels() as labels:
        assert labels.reviews(10) == [other, replace(one, promoted=False)]
        assert labels.reviews(1) == [other]


def test_labels_of_answers_keep_their_rows_and_the_oldest_go(semantic):
    with semantic.transaction() as transaction:
        labels = transaction.labels()
        labels.put_ranking(LABEL, 2)
        labels.put_ranking(replace(LABEL, at_us=9, helped=(), refused=(0,), rows=((9.0, 9.0),)), 2)
        assert labels.ranking("q1") == replace(LABEL, at_us=9, helped=(), refused=(0,))
        for number in range(3):
            labels.put_ranking(replace(LABEL, label_id=f"n{number}"), 2)
    with semantic.reading_labels() as labels:
        assert [one.label_id for one in labels.rankings(10)] == ["n2", "n1"]
        assert labels.ranking("q1") is None


@pytest.fixture(params=["sql", "twin"])
def behavioral(request, tmp_path):
    store = MemoryBehavioralStore() if request.param == "twin" else SqlBehavioralStore.open(tmp_path, bytes(32))
    yield store
    store.close()


def test_an_earlier_prior_or_the_shipped_one_is_used_again(behavioral):
    with _within(behavioral) as rows:
        for version in ("one", "two"):
            rows.add_prior(PriorRecord(version, 1, 5, 50, "active", {"level": 0.5}, {"thumbs": 3.0}))
        assert rows.active_prior().version == "two"
        rows.restore_prior("one")
        assert rows.active_prior().version == "one"
        rows.restore_prior("one")
        assert [(one.version, one.status) for one in rows.priors()] == [("one", "active"), ("two", "replaced")]
        rows.restore_prior("")
        assert rows.active_prior() is None

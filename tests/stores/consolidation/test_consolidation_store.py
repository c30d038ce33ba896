"""One suite for every ledger of runs."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from aico_memory.domain.consolidation.run import Batch, PhaseRun, PhaseTotals, Run, Status, UserRun
from aico_memory.errors import WrongKey
from aico_memory.stores.consolidation.port import ConsolidationLedger, ConsolidationStore
from aico_memory.stores.consolidation.sql import SqlConsolidationStore
from aico_memory.stores.consolidation.twin import MemoryConsolidationStore

KEY = bytes(range(32))
FIRST = Run(uuid.UUID(int=9), "firing-1", Status.ACTIVE, 3, 1_000, 10)
SECOND = Run(uuid.UUID(int=1), "", Status.WAITING, 4, 2_000, 20)
ALICE = UserRun("alice", 7, Status.ACTIVE, ("replay", "summaries"))


def ids(*numbers: int) -> tuple[bytes, ...]:
    return tuple(number.to_bytes(16, "big") for number in numbers)


@pytest.fixture(params=["twin", "sql", "sql without encryption"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ConsolidationStore]:
    makers: dict[str, Callable[[], ConsolidationStore]] = {
        "twin": MemoryConsolidationStore,
        "sql": lambda: SqlConsolidationStore.open(tmp_path / "runs.db", KEY),
        "sql without encryption": lambda: SqlConsolidationStore.open(tmp_path / "runs.db", None),
    }
    opened = makers[request.param]()
    yield opened
    opened.close()


@contextmanager
def writing(store: ConsolidationStore) -> Iterator[ConsolidationLedger]:
    with store.state.transaction() as transaction:
        yield store.within(transaction)


def test_an_empty_ledger_holds_nothing(store: ConsolidationStore) -> None:
    with store.reading() as ledger:
        assert ledger.current() is None
        assert ledger.run(FIRST.run_id) is None
        assert ledger.runs(5) == ledger.views(FIRST.run_id) == ledger.totals(FIRST.run_id) == ledger.batches("", None, 5) == []


def test_a_run_keeps_every_field(store: ConsolidationStore) -> None:
    full = Run(
        uuid.UUID(int=5), "f", Status.FAILED, 6, 7, 8, ("alice", "Çelik"), ("replay",), True, "bob", 11, 12, "out of time"
    )  # fmt: skip
    with writing(store) as ledger:
        assert ledger.add_run(full)
    with store.reading() as ledger:
        assert ledger.run(full.run_id) == full
        assert ledger.run_of("f") == full
        assert ledger.run_of("other") is None


def test_a_run_is_added_once(store: ConsolidationStore) -> None:
    with writing(store) as ledger:
        assert ledger.add_run(FIRST)
        assert not ledger.add_run(replace(FIRST, shard=0))
    with store.reading() as ledger:
        assert ledger.runs(5) == [FIRST]


def test_runs_go_one_after_the_other_in_the_order_of_their_starts(store: ConsolidationStore) -> None:
    with writing(store) as ledger:
        ledger.add_run(SECOND)
        ledger.add_run(FIRST)
        assert ledger.current() == FIRST
        assert ledger.runs(5) == [SECOND, FIRST]
        ledger.put_run(replace(FIRST, status=Status.DONE, finished_us=5))
        assert ledger.current() == SECOND
        ledger.put_run(replace(SECOND, status=Status.CANCELLED, finished_us=6))
        assert ledger.current() is None


def test_users_wait_with_the_most_pending_first_and_are_added_once(store: ConsolidationStore) -> None:
    with writing(store) as ledger:
        ledger.add_run(FIRST)
        ledger.add_users(FIRST.run_id, [UserRun("carol", 5), UserRun("bob", 5), UserRun("dora", 9)])
        ledger.add_users(FIRST.run_id, [UserRun("bob", 50), UserRun("alice", 1)])
    with store.reading() as ledger:
        assert [part.user for part in ledger.waiting(FIRST.run_id, 3)] == ["dora", "bob", "carol"]
        assert ledger.user_counts(FIRST.run_id) == {Status.WAITING: 4}
        assert ledger.waiting(SECOND.run_id, 3) == []


def test_the_view_of_a_user_follows_the_batches_of_the_phase_at_work(store: ConsolidationStore) -> None:
    with writing(store) as ledger:
        ledger.add_run(FIRST)
        ledger.add_users(FIRST.run_id, [ALICE])
        (view,) = ledger.views(FIRST.run_id)
        assert (view.part, view.cut, view.next_batch, view.in_flight) == (ALICE, False, -1, 0)
        phase = PhaseRun("alice", "replay", experiences=3, started_us=5)
        batches = [Batch("alice", "replay", 0, ids(1, 2)), Batch("alice", "replay", 1, ids(3))]
        ledger.cut(FIRST.run_id, phase, batches)
        assert ledger.phase(FIRST.run_id, "alice", "replay") == phase
        (view,) = ledger.views(FIRST.run_id)
        assert (view.cut, view.next_batch, view.in_flight) == (True, 0, 0)
        sent = replace(batches[0], status=Status.ACTIVE, sent_us=6)
        ledger.put_batch(FIRST.run_id, sent)
        assert ledger.batch(FIRST.run_id, "alice", "replay", 0) == sent
        (view,) = ledger.views(FIRST.run_id)
        assert (view.next_batch, view.in_flight) == (1, 1)
        ledger.put_batch(FIRST.run_id, replace(sent, status=Status.DONE, memories=2, finished_us=7))
        ledger.put_batch(FIRST.run_id, replace(batches[1], status=Status.DONE, unknown=1))
        (view,) = ledger.views(FIRST.run_id)
        assert (view.next_batch, view.in_flight) == (-1, 0)
        ledger.put_user(FIRST.run_id, replace(ALICE, phase=1))
        (view,) = ledger.views(FIRST.run_id)
        assert not view.cut
        ledger.put_user(FIRST.run_id, replace(ALICE, phase=2, status=Status.DONE))
        assert ledger.views(FIRST.run_id) == []


def test_a_phase_without_experiences_is_cut_all_the_same(store: ConsolidationStore) -> None:
    with writing(store) as ledger:
        ledger.add_run(FIRST)
        ledger.add_users(FIRST.run_id, [ALICE])
        ledger.cut(FIRST.run_id, PhaseRun("alice", "replay"), [])
        (view,) = ledger.views(FIRST.run_id)
    assert (view.cut, view.next_batch, view.in_flight) == (True, -1, 0)


def test_totals_add_up_over_users(store: ConsolidationStore) -> None:
    done, sent = Status.DONE, Status.ACTIVE
    with writing(store) as ledger:
        ledger.add_run(FIRST)
        ledger.add_users(FIRST.run_id, [ALICE, replace(ALICE, user="bob")])
        first = Batch("alice", "replay", 0, ids(1, 2), done, memories=2, unknown=1)
        ledger.cut(
            FIRST.run_id, PhaseRun("alice", "replay", done, 3, 10, 14), [first, Batch("alice", "replay", 1, ids(3), sent)]
        )
        ledger.cut(
            FIRST.run_id, PhaseRun("bob", "replay", sent, 1, 11, 0), [Batch("bob", "replay", 0, ids(4), done, memories=1)]
        )
        ledger.cut(FIRST.run_id, PhaseRun("bob", "summaries", sent, 0, 12, 0), [])
    with store.reading() as ledger:
        assert ledger.totals(FIRST.run_id) == [
            PhaseTotals("replay", 2, 3, 2, 3, 4, 3, 1, 4),
            PhaseTotals("summaries", 1),
        ]


def test_batches_can_be_read_page_by_page(store: ConsolidationStore) -> None:
    with writing(store) as ledger:
        for run in (FIRST, SECOND):
            ledger.add_run(run)
            for user in ("alice", "bob"):
                ledger.add_users(run.run_id, [replace(ALICE, user=user)])
                ledger.cut(run.run_id, PhaseRun(user, "replay"), [Batch(user, "replay", number, ids(1)) for number in range(3)])
    with store.reading() as ledger:
        read: list[tuple[str, bytes, str, int]] = []
        while page := ledger.batches("", read[-1] if read else None, 5):
            read += [(batch.user, run_id.bytes, batch.phase, batch.number) for run_id, batch in page]
        assert len(read) == 12
        assert read == sorted(set(read))
        assert len(ledger.batches("bob", None, 100)) == 6


def test_pruning_removes_ended_runs_with_all_their_parts(store: ConsolidationStore) -> None:
    with writing(store) as ledger:
        for run in (replace(FIRST, status=Status.DONE, finished_us=50), SECOND):
            ledger.add_run(run)
            ledger.add_users(run.run_id, [ALICE])
            ledger.cut(run.run_id, PhaseRun("alice", "replay"), [Batch("alice", "replay", 0, ids(1))])
        assert ledger.prune(50) == 0
        assert ledger.prune(51) == 1
    with store.reading() as ledger:
        assert ledger.runs(5) == [SECOND]
        assert [run_id for run_id, _ in ledger.batches("", None, 9)] == [SECOND.run_id]
        assert ledger.user_counts(FIRST.run_id) == {}


def test_a_transaction_that_fails_leaves_nothing(store: ConsolidationStore) -> None:
    with pytest.raises(KeyboardInterrupt), writing(store) as ledger:
        ledger.add_run(FIRST)
        ledger.add_users(FIRST.run_id, [ALICE])
        raise KeyboardInterrupt
    with store.reading() as ledger:
        assert ledger.runs(5) == []


def test_runs_are_there_after_opening_again_and_another_key_does_not_open_them(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    first = SqlConsolidationStore.open(path, KEY)
    with writing(first) as ledger:
        ledger.add_run(replace(FIRST, user_ids=("alice-of-the-secret",)))
    first.close()
    again = SqlConsolidationStore.open(path, KEY)
    with again.reading() as ledger:
        assert ledger.runs(5)[0].user_ids == ("alice-of-the-secret",)
    again.close()
    assert all(b"alice-of-the-secret" not in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    with pytest.raises(WrongKey):
        SqlConsolidationStore.open(path, bytes(32))

"""One suite for every ledger of runs."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from aico_memory.domain.consolidation.cycle import Cycle
from aico_memory.domain.consolidation.run import Amounts, Batch, Decision, PhaseRun, PhaseTotals, Run, Status, UserRun
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
        uuid.UUID(int=5), "f", Status.FAILED, 6, 7, 8, ("alice", "Çelik"), ("replay",), True, "bob", 11, 12, "out of time", 1
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


def test_users_wait_longest_overdue_first_then_most_pending_and_are_added_once(store: ConsolidationStore) -> None:
    with writing(store) as ledger:
        ledger.add_run(FIRST)
        ledger.add_users(FIRST.run_id, [UserRun("carol", 5), UserRun("bob", 5), UserRun("dora", 9)])
        ledger.add_users(FIRST.run_id, [UserRun("bob", 50), UserRun("alice", 1)])
        ledger.add_users(FIRST.run_id, [UserRun("zoe", 0, overdue=2)])
    with store.reading() as ledger:
        assert [part.user for part in ledger.waiting(FIRST.run_id, 3)] == ["zoe", "dora", "bob"]
        assert ledger.user_counts(FIRST.run_id) == {Status.WAITING: 5}
        assert ledger.waiting(SECOND.run_id, 3) == []


def test_the_view_of_a_user_follows_the_batches_of_the_phase_at_work(store: ConsolidationStore) -> None:
    with writing(store) as ledger:
        ledger.add_run(FIRST)
        ledger.add_users(FIRST.run_id, [ALICE])
        (view,) = ledger.views(FIRST.run_id)
        assert (view.part, view.open, view.next_batch, view.in_flight) == (ALICE, False, -1, 0)
        phase = PhaseRun("alice", "replay", experiences=3, started_us=5)
        ledger.open_phase(FIRST.run_id, phase, ids(1, 2, 3))
        (view,) = ledger.views(FIRST.run_id)
        assert (view.open, view.next_batch, view.in_flight) == (True, 0, 0)
        batches = [Batch("alice", "replay", 0, ids(1, 2)), Batch("alice", "replay", 1, ids(3))]
        for batch in batches:
            ledger.put_batch(FIRST.run_id, batch)
        assert ledger.phase(FIRST.run_id, "alice", "replay") == phase
        (view,) = ledger.views(FIRST.run_id)
        assert (view.open, view.next_batch, view.in_flight) == (True, 0, 0)
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
        assert not view.open
        ledger.put_user(FIRST.run_id, replace(ALICE, phase=2, status=Status.DONE))
        assert ledger.views(FIRST.run_id) == []


def test_a_replay_goes_on_while_its_order_is_not_used_up(store: ConsolidationStore) -> None:
    with writing(store) as ledger:
        ledger.add_run(FIRST)
        ledger.add_users(FIRST.run_id, [ALICE])
        ledger.open_phase(FIRST.run_id, PhaseRun("alice", "replay", experiences=5), ids(5, 4, 3, 2, 1))
        assert ledger.ordered(FIRST.run_id, "alice", "replay", 1, 2) == ids(4, 3)
        assert ledger.ordered(FIRST.run_id, "alice", "replay", 4, 9) == ids(1)
        assert ledger.ordered(FIRST.run_id, "bob", "replay", 0, 9) == ()
        ledger.put_batch(FIRST.run_id, Batch("alice", "replay", 0, ids(5, 4), Status.DONE, memories=2))
        assert ledger.view(FIRST.run_id, ALICE).next_batch == 1
        ledger.put_batch(FIRST.run_id, Batch("alice", "replay", 1, ids(3, 2, 1), Status.ACTIVE))
        view = ledger.view(FIRST.run_id, ALICE)
        assert (view.next_batch, view.in_flight) == (-1, 1)
        assert ledger.amounts(FIRST.run_id, "alice", "replay") == Amounts(2, 5, 1, 2)
        ledger.put_phase(FIRST.run_id, PhaseRun("alice", "replay", Status.DONE, 5))
        assert ledger.ordered(FIRST.run_id, "alice", "replay", 0, 1) == ids(5), "replacing a phase leaves its order"


def test_a_step_keeps_every_field_and_is_summed(store: ConsolidationStore) -> None:
    sample = Decision("m-1", "rested", "utility", "0.12, unused for 41 days", ("m-2", "m-3"))
    step = Batch(
        "alice", "decay", 0, (), Status.DONE, 0, 0, 4, 9, "scope|7", {"seen": 3, "decayed": 1}, (sample,), "read_only"
    )  # fmt: skip
    with writing(store) as ledger:
        ledger.add_run(FIRST)
        ledger.add_users(FIRST.run_id, [ALICE, replace(ALICE, user="bob")])
        for user in ("alice", "bob"):
            ledger.open_phase(FIRST.run_id, PhaseRun(user, "decay", Status.FAILED, 0, 4, 9, "read_only"))
            ledger.put_batch(FIRST.run_id, replace(step, user=user))
            ledger.put_batch(FIRST.run_id, replace(step, user=user, number=1, counts={"seen": 2}, samples=()))
    with store.reading() as ledger:
        assert ledger.batch(FIRST.run_id, "alice", "decay", 0) == step
        (total,) = ledger.totals(FIRST.run_id)
        assert total == PhaseTotals("decay", 2, 4, 4, 0, 0, 0, 0, 10, {"decayed": 2, "seen": 10}, 2, "read_only")
        assert ledger.samples(FIRST.run_id, "decay", 9) == [sample, sample]
        assert ledger.samples(FIRST.run_id, "decay", 1) == [sample]
        assert ledger.samples(FIRST.run_id, "utility", 9) == []


def test_a_part_that_was_held_fails_nobody_and_a_failure_is_told_before_it(store: ConsolidationStore) -> None:
    with writing(store) as ledger:
        ledger.add_run(FIRST)
        ledger.add_users(FIRST.run_id, [ALICE, replace(ALICE, user="bob")])
        ledger.open_phase(FIRST.run_id, PhaseRun("alice", "decay", Status.DONE, 0, 4, 9, "read_only"))
    with store.reading() as ledger:
        (total,) = ledger.totals(FIRST.run_id)
        assert (total.failed, total.error) == (0, "read_only")
    with writing(store) as ledger:
        ledger.open_phase(FIRST.run_id, PhaseRun("bob", "decay", Status.FAILED, 0, 4, 9, "KeyError"))
    with store.reading() as ledger:
        (total,) = ledger.totals(FIRST.run_id)
        assert (total.failed, total.error) == (1, "KeyError")


def test_what_is_held_is_summed_over_the_users_that_are_done(store: ConsolidationStore) -> None:
    done = replace(ALICE, status=Status.DONE, before={"active": 5, "kind.fact": 2}, after={"active": 3}, overdue=1)
    with writing(store) as ledger:
        ledger.add_run(FIRST)
        ledger.add_users(FIRST.run_id, [done, replace(done, user="bob"), replace(done, user="carol", status=Status.ACTIVE)])
        assert ledger.user(FIRST.run_id, "alice") == done
        assert ledger.user(FIRST.run_id, "nobody") is None
        assert ledger.user_totals(FIRST.run_id) == ({"active": 10, "kind.fact": 4}, {"active": 6})
        assert ledger.user_totals(SECOND.run_id) == ({}, {})


def test_places_in_the_cycle_outlive_the_runs(store: ConsolidationStore) -> None:
    with writing(store) as ledger:
        ledger.add_run(replace(FIRST, status=Status.DONE, finished_us=5))
        ledger.put_cycle(Cycle("alice", 1))
        ledger.put_cycle(Cycle("alice", 1, 2, 3))
        ledger.put_cycle(Cycle("bob", 4))
        assert ledger.prune(100) == 1
    with store.reading() as ledger:
        assert ledger.cycles(["bob", "alice", "carol"]) == {"alice": Cycle("alice", 1, 2, 3), "bob": Cycle("bob", 4)}
        assert ledger.cycles([]) == {}


def test_a_phase_without_experiences_is_open_all_the_same(store: ConsolidationStore) -> None:
    with writing(store) as ledger:
        ledger.add_run(FIRST)
        ledger.add_users(FIRST.run_id, [ALICE])
        ledger.open_phase(FIRST.run_id, PhaseRun("alice", "replay"))
        (view,) = ledger.views(FIRST.run_id)
    assert (view.open, view.next_batch, view.in_flight) == (True, -1, 0)


def test_totals_add_up_over_users(store: ConsolidationStore) -> None:
    done, sent = Status.DONE, Status.ACTIVE
    with writing(store) as ledger:
        ledger.add_run(FIRST)
        ledger.add_users(FIRST.run_id, [ALICE, replace(ALICE, user="bob")])
        first = Batch("alice", "replay", 0, ids(1, 2), done, memories=2, unknown=1)
        ledger.open_phase(FIRST.run_id, PhaseRun("alice", "replay", done, 3, 10, 14), ids(1, 2, 3))
        ledger.open_phase(FIRST.run_id, PhaseRun("bob", "replay", sent, 1, 11, 0), ids(4))
        last = Batch("alice", "replay", 1, ids(3), sent)
        for batch in (first, last, Batch("bob", "replay", 0, ids(4), done, memories=1)):
            ledger.put_batch(FIRST.run_id, batch)
        ledger.open_phase(FIRST.run_id, PhaseRun("bob", "summaries", sent, 0, 12, 0))
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
                ledger.open_phase(run.run_id, PhaseRun(user, "replay"))
                for number in range(3):
                    ledger.put_batch(run.run_id, Batch(user, "replay", number, ids(1)))
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
            ledger.open_phase(run.run_id, PhaseRun("alice", "replay"), ids(1))
            ledger.put_batch(run.run_id, Batch("alice", "replay", 0, ids(1)))
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

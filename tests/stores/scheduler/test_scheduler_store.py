"""One suite for every scheduler's ledger."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.domain.scheduling.job import Firing, Outcome, firing_identity
from aico_memory.domain.scheduling.plan import JobMark
from aico_memory.errors import WrongKey
from aico_memory.stores.scheduler.port import SchedulerStore
from aico_memory.stores.scheduler.sql import SqlSchedulerStore
from aico_memory.stores.scheduler.twin import MemorySchedulerStore

KEY = bytes(range(32))
MARK = JobMark("nightly", "0 2 * * *", "Europe/Berlin", 1_000)
TRIGGER = OutgoingRecord(b"e" * 16, "memory/working/sweep/v1/", "", b"envelope")


@pytest.fixture(params=["twin", "sql", "sql without encryption"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SchedulerStore]:
    makers: dict[str, Callable[[], SchedulerStore]] = {
        "twin": MemorySchedulerStore,
        "sql": lambda: SqlSchedulerStore.open(tmp_path / "scheduler.db", KEY),
        "sql without encryption": lambda: SqlSchedulerStore.open(tmp_path / "scheduler.db", None),
    }
    opened = makers[request.param]()
    yield opened
    opened.close()


def firing(planned_us: int, job: str = "nightly", **more: object) -> Firing:
    return replace(Firing(firing_identity(job, planned_us), job, planned_us), **more)  # type: ignore[arg-type]


def put(store: SchedulerStore, *firings: Firing) -> None:
    with store.state.transaction() as transaction:
        for one in firings:
            store.within(transaction).put(one)


def test_an_empty_ledger_holds_nothing(store: SchedulerStore) -> None:
    with store.reading() as ledger:
        assert ledger.marks() == {}
        assert ledger.waiting() == ledger.running() == ledger.history(10) == []
        assert ledger.last() == {}
        assert ledger.firing(uuid.UUID(int=7)) is None


def test_a_firing_keeps_every_field(store: SchedulerStore) -> None:
    full = Firing(
        firing_identity("nightly", 5),
        "nightly",
        5,
        Outcome.FAILED,
        6,
        7,
        True,
        3,
        4,
        "worn out",
        ("alice", "Çelik"),
        ("replay",),
    )
    put(store, full)
    with store.reading() as ledger:
        assert ledger.firing(full.firing_id) == full
        assert ledger.history(1) == [full]


def test_a_firing_moves_from_waiting_to_running_to_history(store: SchedulerStore) -> None:
    one = firing(10)
    put(store, one)
    with store.reading() as ledger:
        assert (ledger.waiting(), ledger.running(), ledger.last()) == ([one], [], {})
    fired = replace(one, outcome=Outcome.FIRED, fired_us=11)
    put(store, fired)
    with store.reading() as ledger:
        assert (ledger.waiting(), ledger.running(), ledger.last()) == ([], [fired], {"nightly": fired})
    done = replace(fired, outcome=Outcome.DONE, finished_us=12)
    put(store, done)
    with store.reading() as ledger:
        assert (ledger.waiting(), ledger.running(), ledger.history(5)) == ([], [], [done])


def test_a_firing_whose_end_nobody_reports_does_not_run_on(store: SchedulerStore) -> None:
    put(store, firing(10, outcome=Outcome.FIRED, fired_us=11, finished_us=11))
    with store.reading() as ledger:
        assert ledger.running() == []


def test_history_is_newest_first_and_bounded(store: SchedulerStore) -> None:
    ended = [firing(at, outcome=Outcome.DONE, fired_us=at, finished_us=at) for at in (30, 10, 20)]
    put(store, *ended)
    with store.reading() as ledger:
        assert [one.planned_us for one in ledger.history(2)] == [30, 20]


def test_the_last_firing_of_each_job_is_known(store: SchedulerStore) -> None:
    newest = firing(20, outcome=Outcome.DONE, fired_us=20, finished_us=21)
    other = firing(5, "hourly", outcome=Outcome.MISSED, finished_us=6)
    put(store, firing(10, outcome=Outcome.DONE, fired_us=10, finished_us=11), newest, firing(30), other)
    with store.reading() as ledger:
        assert ledger.last() == {"nightly": newest, "hourly": other}


def test_pruning_keeps_what_is_open_and_each_jobs_newest(store: SchedulerStore) -> None:
    ended = [firing(at, outcome=Outcome.DONE, fired_us=at, finished_us=at) for at in (10, 20, 30)]
    open_one = firing(15)
    lonely = firing(1, "yearly", outcome=Outcome.DONE, fired_us=1, finished_us=2)
    put(store, *ended, open_one, lonely)
    with store.state.transaction() as transaction:
        assert store.within(transaction).prune(1000) == 2
    with store.reading() as ledger:
        assert ledger.history(10) == [ended[2], open_one, lonely]


def test_marks_are_replaced_and_forgotten(store: SchedulerStore) -> None:
    later, other = replace(MARK, evaluated_us=2_000), replace(MARK, job="hourly")
    with store.state.transaction() as transaction:
        ledger = store.within(transaction)
        ledger.set_mark(MARK)
        ledger.set_mark(other)
        ledger.set_mark(later)
        assert ledger.marks() == {"nightly": later, "hourly": other}
        ledger.keep_marks(["nightly"])
    with store.reading() as reading:
        assert reading.marks() == {"nightly": later}


def test_firing_and_trigger_and_mark_are_one_transaction(store: SchedulerStore) -> None:
    with pytest.raises(KeyboardInterrupt), store.state.transaction() as transaction:
        ledger = store.within(transaction)
        ledger.put(firing(10, outcome=Outcome.FIRED, fired_us=10))
        ledger.set_mark(MARK)
        transaction.emit(TRIGGER)
        assert len(ledger.running()) == 1
        raise KeyboardInterrupt
    with store.reading() as reading:
        assert (reading.history(5), reading.marks()) == ([], {})
    assert store.state.outgoing(5) == []
    with store.state.transaction() as transaction:
        store.within(transaction).put(firing(10, outcome=Outcome.FIRED, fired_us=10))
        transaction.emit(TRIGGER)
        transaction.emit(TRIGGER)
    assert store.state.outgoing(5) == [TRIGGER]


def test_what_was_written_is_there_after_opening_again_and_another_key_does_not_open_it(tmp_path: Path) -> None:
    path = tmp_path / "scheduler.db"
    first = SqlSchedulerStore.open(path, KEY)
    put(first, firing(10, user_ids=("alice-of-the-secret",)))
    first.close()
    again = SqlSchedulerStore.open(path, KEY)
    with again.reading() as ledger:
        assert ledger.waiting()[0].user_ids == ("alice-of-the-secret",)
    again.close()
    assert all(b"alice-of-the-secret" not in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    with pytest.raises(WrongKey):
        SqlSchedulerStore.open(path, bytes(32))

"""The scheduler's handlers on the in-memory twin."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from aico_memory.clock import from_us, to_us
from aico_memory.contracts.envelope import Event, open_record, open_reply
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import sleep_pb2
from aico_memory.contracts.wire import OutgoingRecord, StampedRecord
from aico_memory.domain.scheduling.job import Job, Outcome
from aico_memory.errors import InvalidMessage, NotFound
from aico_memory.runtime.schedule_file import parse_schedule
from aico_memory.settings.scheduler import SchedulerSettings
from aico_memory.stores.scheduler.sql import SqlSchedulerStore
from aico_memory.stores.scheduler.twin import MemorySchedulerStore
from services.scheduler.handlers import CANCEL, COMPLETE, FINISHED, JOBS, TRIGGER, SchedulerHandlers

# A Friday noon.
START = to_us(datetime(2026, 11, 20, 12, tzinfo=UTC))
SECOND = 1_000_000
HOUR = 3600 * SECOND
DAY = 24 * HOUR
SCHEDULE = """
zone: UTC
jobs:
  nightly:
    {cron: "0 2 * * *", topic: memory/consolidation/start/v1/, resource: heavy, max_duration: 3600, reports: true,
     idle: true, latest: 7200, priority: 90}
  weekly: {cron: "0 2 * * 6", topic: memory/semantic/evolve/v1/, resource: heavy, max_duration: 600, reports: true}
  sweep: {cron: "*/10 * * * *", topic: memory/working/sweep/v1/}
  later: {cron: "0 4 * * *", topic: memory/behavioral/learn/v1/, enabled: false, awaiting: nothing to learn}
"""


@pytest.fixture
def jobs(tmp_path: Path) -> dict[str, Job]:
    path = tmp_path / "schedule.yaml"
    path.write_text(SCHEDULE)
    return parse_schedule(path)


class Scheduler:
    """Handlers, a clock turned by hand and what was published."""

    def __init__(self, jobs: dict[str, Job], store: Any = None, now_us: int = START) -> None:
        self.store = store or MemorySchedulerStore()
        self.jobs = jobs
        self.now_us = now_us
        self.load = 5.0
        self.handlers = SchedulerHandlers(self.store, jobs, SchedulerSettings(), now_us, lambda: self.load)

    def advance(self, by_us: int, steps: int = 1) -> None:
        for _ in range(steps):
            self.now_us += by_us
            self.handlers.idle(self.now_us)

    def restart(self) -> None:
        self.handlers = SchedulerHandlers(self.store, self.jobs, SchedulerSettings(), self.now_us, lambda: self.load)

    def tell(self, message: Any, number: int = 1, reply_to: str = "memory/reply/operator/00/v1/") -> Any:
        """Apply one event as the worker would; returns the answer where one was emitted."""
        known = {record.event_id for record in self.store.state.outgoing(1000)}
        event = Event(uuid.UUID(int=number), topic_of(message).name, "", message, received_us=self.now_us, reply_to=reply_to)
        with self.store.state.transaction() as transaction:
            self.handlers.apply(transaction, event)
        self.handlers.after_commit()
        answers = [
            opened(one) for one in self.store.state.outgoing(1000) if one.event_id not in known and "/reply/" in one.topic
        ]
        return open_reply(answers[0].message) if answers else None

    def fired(self, topic: str = "consolidation/start") -> list[Any]:
        records = [record for record in self.store.state.outgoing(1000) if record.topic == f"memory/{topic}/v1/"]
        return [opened(record).message for record in records]

    def page(self) -> sleep_pb2.JobsPage:
        event = Event(uuid.UUID(int=9), JOBS, "", sleep_pb2.JobsRequest(history=100))
        return self.handlers.requests[JOBS](event, None)  # type: ignore[arg-type]

    def outcomes(self, job: str) -> list[str]:
        return [firing.outcome for firing in reversed(self.page().firings) if firing.job == job]


def opened(record: OutgoingRecord) -> Event:
    return open_record(StampedRecord(record.topic, record.event_id, record.user, record.envelope, "scheduler", 1, 1, 0))


def test_advancing_a_day_fires_the_nights_jobs_once(jobs: dict[str, Job]) -> None:
    scheduler = Scheduler(jobs)
    scheduler.advance(DAY)
    (start,) = scheduler.fired()
    assert from_us(start.planned_at_us) == datetime(2026, 11, 21, 2, tzinfo=UTC)
    assert start.shard == datetime(2026, 11, 21).toordinal() % 7
    assert not start.manual
    (sweep,) = scheduler.fired("working/sweep")
    assert from_us(sweep.planned_at_us) == datetime(2026, 11, 21, 12, tzinfo=UTC)
    assert [firing.missed for firing in scheduler.page().firings if firing.job == "sweep"] == [143]


def test_walking_through_a_week_fires_every_night_once_however_often_the_process_restarts(jobs: dict[str, Job]) -> None:
    scheduler = Scheduler(jobs)
    for step in range(7 * 24 * 4):
        scheduler.advance(HOUR // 4)
        if step % 5 == 0:
            scheduler.restart()
        for firing in scheduler.page().firings:
            if firing.outcome == "fired" and not firing.finished_us:
                scheduler.tell(sleep_pb2.JobFinished(firing_id=firing.firing_id, outcome="done"), reply_to="")
    nights = [from_us(start.planned_at_us) for start in scheduler.fired()]
    assert nights == [datetime(2026, 11, 21, 2, tzinfo=UTC) + timedelta(days=day) for day in range(7)]
    assert len({start.firing_id for start in scheduler.fired()}) == 7
    assert len(scheduler.fired("semantic/evolve")) == 1


def test_a_clock_that_is_set_far_back_goes_on_firing_from_there(jobs: dict[str, Job]) -> None:
    scheduler = Scheduler(jobs)
    scheduler.advance(-260 * DAY)
    scheduler.advance(DAY)
    (start,) = scheduler.fired()
    assert from_us(start.planned_at_us) == from_us(START - 260 * DAY).replace(hour=2) + timedelta(days=1)
    assert len(scheduler.fired("working/sweep")) == 1
    scheduler.advance(-DAY)
    scheduler.restart()
    assert from_us({job.name: job for job in scheduler.page().jobs}["sweep"].next_us) < from_us(scheduler.now_us + HOUR)


@pytest.mark.parametrize("restarts", [False, True])
def test_time_that_passes_again_fires_nothing_twice(jobs: dict[str, Job], restarts: bool) -> None:
    scheduler = Scheduler({"sweep": jobs["sweep"]})
    scheduler.advance(600 * SECOND, steps=12)
    before = [sweep.planned_at_us for sweep in scheduler.fired("working/sweep")]
    assert len(before) == 12
    scheduler.advance(-HOUR)
    if restarts:
        scheduler.restart()
    scheduler.advance(60 * SECOND, steps=60)
    assert [sweep.planned_at_us for sweep in scheduler.fired("working/sweep")] == before
    assert scheduler.outcomes("sweep") == ["fired"] * 12
    scheduler.advance(600 * SECOND)
    assert len(scheduler.fired("working/sweep")) == 13


def test_a_machine_is_idle_again_after_its_clock_was_set_back(jobs: dict[str, Job]) -> None:
    scheduler = Scheduler(jobs)
    scheduler.handlers.hear(
        StampedRecord("memory/working/stored/v1/", b"m" * 16, "alice", b"", "working", 1, 1, scheduler.now_us)
    )
    scheduler.advance(-DAY)
    scheduler.advance(60 * SECOND, steps=6)
    assert scheduler.page().idle


def test_a_second_scheduler_with_a_store_of_its_own_publishes_the_same_event_ids(jobs: dict[str, Job]) -> None:
    first, second = Scheduler(jobs), Scheduler(jobs)
    for scheduler in (first, second):
        scheduler.advance(DAY)
    ids = [{record.event_id for record in one.store.state.outgoing(100)} for one in (first, second)]
    assert ids[0] == ids[1]


def test_two_heavy_jobs_of_one_time_run_one_after_the_other(jobs: dict[str, Job]) -> None:
    scheduler = Scheduler(jobs)
    scheduler.advance(DAY)
    assert len(scheduler.fired()) == 1
    assert scheduler.fired("semantic/evolve") == [], "Saturday's other heavy job waits"
    done = sleep_pb2.JobFinished(firing_id=scheduler.fired()[0].firing_id, outcome="done", at_us=scheduler.now_us)
    scheduler.tell(done, reply_to="")
    scheduler.advance(0)
    assert len(scheduler.fired("semantic/evolve")) == 1, "also where the clock stands still"


def test_a_heavy_job_that_never_ends_gives_way_after_its_maximum_duration(jobs: dict[str, Job]) -> None:
    scheduler = Scheduler(jobs)
    scheduler.advance(DAY)
    scheduler.advance(HOUR + SECOND)
    assert scheduler.outcomes("nightly") == ["failed"]
    assert len(scheduler.fired("semantic/evolve")) == 1
    (cancelled,) = scheduler.fired("scheduler/cancelled")
    assert (cancelled.firing_id, cancelled.job) == (scheduler.fired()[0].firing_id, "nightly")
    assert "3600 s" in cancelled.reason
    late = sleep_pb2.JobFinished(firing_id=scheduler.fired()[0].firing_id, outcome="done", at_us=scheduler.now_us)
    scheduler.tell(late, reply_to="")
    assert scheduler.outcomes("nightly") == ["done"], "a late report corrects a presumed failure"


def test_a_job_waits_for_idleness_and_runs_at_its_latest_time_anyway(jobs: dict[str, Job]) -> None:
    scheduler = Scheduler(jobs, now_us=to_us(datetime(2026, 11, 22, 1, 50, tzinfo=UTC)))
    scheduler.load = 90.0
    scheduler.advance(60 * SECOND, steps=129)
    assert scheduler.fired() == []
    assert not scheduler.page().idle
    scheduler.advance(60 * SECOND)
    assert len(scheduler.fired()) == 1, "02:00 and two hours"


def test_a_later_firing_takes_the_place_of_one_that_waits_without_waiting_anew(jobs: dict[str, Job]) -> None:
    patient = {"nightly": replace(jobs["nightly"], latest=30 * 3600)}
    scheduler = Scheduler(patient, now_us=to_us(datetime(2026, 11, 22, 1, 50, tzinfo=UTC)))
    scheduler.load = 90.0
    scheduler.advance(HOUR // 4, steps=4 * 30)
    assert scheduler.fired() == []
    assert sorted(scheduler.outcomes("nightly")) == ["missed", "planned"]
    scheduler.advance(HOUR // 4)
    (start,) = scheduler.fired()
    assert from_us(start.planned_at_us) == datetime(2026, 11, 23, 2, tzinfo=UTC), "the later one, 30 hours after the first"


def test_a_quiet_machine_without_messages_lets_a_waiting_job_go(jobs: dict[str, Job]) -> None:
    scheduler = Scheduler(jobs, now_us=to_us(datetime(2026, 11, 22, 1, 59, tzinfo=UTC)))
    scheduler.advance(60 * SECOND, steps=2)
    message = StampedRecord("memory/working/stored/v1/", b"m" * 16, "alice", b"", "working", 1, 1, scheduler.now_us)
    scheduler.handlers.hear(message)
    scheduler.advance(60 * SECOND, steps=4)
    assert scheduler.fired() == [], "somebody talked less than five minutes ago"
    scheduler.advance(60 * SECOND)
    assert len(scheduler.fired()) == 1
    assert scheduler.page().idle


def test_a_trigger_by_hand_fires_at_once_and_answers(jobs: dict[str, Job]) -> None:
    scheduler = Scheduler(jobs)
    scheduler.load = 90.0
    answer = scheduler.tell(sleep_pb2.TriggerJob(job="nightly", user_ids=["alice"], phases=["replay"]))
    assert (answer.job, answer.outcome, answer.manual) == ("nightly", "fired", True)
    (start,) = scheduler.fired()
    assert (start.firing_id, list(start.user_ids), list(start.phases)) == (answer.firing_id, ["alice"], ["replay"])
    assert start.manual


def test_a_heavy_trigger_by_hand_waits_for_the_heavy_job_that_runs(jobs: dict[str, Job]) -> None:
    scheduler = Scheduler(jobs)
    first = scheduler.tell(sleep_pb2.TriggerJob(job="nightly"), 1)
    second = scheduler.tell(sleep_pb2.TriggerJob(job="nightly", user_ids=["bob"]), 2)
    assert (first.outcome, second.outcome) == ("fired", "planned")
    scheduler.advance(SECOND)
    assert len(scheduler.fired()) == 1
    scheduler.tell(sleep_pb2.JobFinished(firing_id=first.firing_id, outcome="done"), 3, reply_to="")
    scheduler.advance(SECOND)
    assert [list(start.user_ids) for start in scheduler.fired()] == [[], ["bob"]]


def test_a_trigger_that_cannot_be_is_refused_with_its_reason(jobs: dict[str, Job]) -> None:
    scheduler = Scheduler(jobs)
    with pytest.raises(NotFound, match="nightly, sweep, weekly"):
        scheduler.tell(sleep_pb2.TriggerJob(job="nothing"), 1)
    with pytest.raises(InvalidMessage, match="nothing to learn"):
        scheduler.tell(sleep_pb2.TriggerJob(job="later"), 2)
    with pytest.raises(InvalidMessage, match="no users"):
        scheduler.tell(sleep_pb2.TriggerJob(job="sweep", user_ids=["alice"]), 3)
    with pytest.raises(InvalidMessage, match="no phases"):
        scheduler.tell(sleep_pb2.TriggerJob(job="sweep", phases=["replay"]), 4)
    with pytest.raises(InvalidMessage, match="no phase 'levitation'"):
        scheduler.tell(sleep_pb2.TriggerJob(job="nightly", phases=["replay", "levitation"]), 5)
    assert scheduler.page().firings == []


def test_an_end_that_belongs_to_no_firing_changes_nothing(jobs: dict[str, Job]) -> None:
    scheduler = Scheduler(jobs)
    for firing_id in ("", "by hand", str(uuid.UUID(int=5))):
        scheduler.tell(sleep_pb2.JobFinished(firing_id=firing_id, outcome="done"), reply_to="")
    assert scheduler.page().firings == []


def test_jobs_are_listed_with_their_next_time(jobs: dict[str, Job]) -> None:
    page = Scheduler(jobs).page()
    listed = {job.name: job for job in page.jobs}
    assert from_us(listed["nightly"].next_us) == datetime(2026, 11, 21, 2, tzinfo=UTC)
    assert (listed["later"].next_us, listed["later"].enabled, listed["later"].awaiting) == (0, False, "nothing to learn")
    assert page.jobs[-1].name == "later"


def test_a_job_taken_off_the_schedule_while_it_waited_counts_as_missed(jobs: dict[str, Job]) -> None:
    scheduler = Scheduler(jobs, now_us=to_us(datetime(2026, 11, 22, 1, 59, tzinfo=UTC)))
    scheduler.load = 90.0
    scheduler.advance(60 * SECOND, steps=2)
    with scheduler.store.reading() as ledger:
        assert [firing.job for firing in ledger.waiting()] == ["nightly"]
    scheduler.jobs = {name: job for name, job in jobs.items() if name != "nightly"}
    scheduler.restart()
    with scheduler.store.reading() as ledger:
        assert ledger.waiting() == []
        assert ledger.last()["nightly"].outcome is Outcome.MISSED


def test_the_encrypted_store_carries_the_scheduler_over_a_kill(jobs: dict[str, Job], tmp_path: Path) -> None:
    path = tmp_path / "store" / "scheduler.db"
    first = Scheduler(jobs, SqlSchedulerStore.open(path, bytes(32)))
    first.advance(DAY)
    published = {record.event_id for record in first.store.state.outgoing(100)}
    assert len(first.fired()) == 1
    first.store.close()
    second = Scheduler(jobs, SqlSchedulerStore.open(path, bytes(32)), first.now_us)
    second.advance(SECOND)
    assert {record.event_id for record in second.store.state.outgoing(100)} == published
    assert second.handlers.status()["running"] == ["nightly"]
    second.handlers.close()


def test_the_topics_consumed_are_the_triggers_and_the_ends(jobs: dict[str, Job]) -> None:
    assert tuple(Scheduler(jobs).handlers.topics) == (TRIGGER, CANCEL, FINISHED, COMPLETE)

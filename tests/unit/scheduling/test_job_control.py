"""Jobs that are ended from outside, and a schedule that changes while it runs."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import pytest

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import sleep_pb2
from aico_memory.errors import ConfigurationInvalid, NotFound
from aico_memory.paths import Home
from aico_memory.settings.scheduler import SchedulerSettings
from aico_memory.stores.scheduler.twin import MemorySchedulerStore
from services.scheduler.handlers import RELOAD, SchedulerHandlers
from services.scheduler.watching import ScheduleWatch
from tests.unit.scheduling.test_scheduler_handlers import DAY, HOUR, SCHEDULE, SECOND, START, Scheduler


class Watched(Scheduler):
    """A scheduler over the schedule of a home."""

    def __init__(self, folder: Path, text: str = SCHEDULE) -> None:
        self.home = Home(folder)
        self.file = folder / "config" / "schedule.yaml"
        self.file.parent.mkdir()
        self.writes = 0
        self.write(text)
        self.store = MemorySchedulerStore()
        self.now_us, self.load = START, 5.0
        self.restart()

    def write(self, text: str) -> None:
        """A later version of the file, also where the clock of the file system is coarse."""
        self.writes += 1
        self.file.write_text(text)
        os.utime(self.file, ns=(self.writes * 10**9, self.writes * 10**9))

    def restart(self) -> None:
        watch = ScheduleWatch(self.home, self.now_us)
        self.handlers = SchedulerHandlers(
            self.store, watch.state.jobs, SchedulerSettings(), self.now_us, lambda: self.load, watch
        )

    def reload(self) -> sleep_pb2.ScheduleState:
        event = Event(uuid.UUID(int=8), RELOAD, "", sleep_pb2.ReloadSchedule())
        return self.handlers.requests[RELOAD](event, None)  # type: ignore[arg-type,return-value]

    def listed(self) -> dict[str, sleep_pb2.Job]:
        return {job.name: job for job in self.page().jobs}


@pytest.fixture
def scheduler(tmp_path: Path) -> Watched:
    return Watched(tmp_path)


def test_a_changed_file_is_in_force_at_the_next_tick(scheduler: Watched) -> None:
    scheduler.advance(SECOND)
    assert list(scheduler.page().schedule.changed) == []
    scheduler.write(
        SCHEDULE.replace("0 2 * * *", "30 12 * * *") + "  extra: {cron: '0 13 * * *', topic: memory/semantic/reindex/v1/}"
    )
    scheduler.advance(SECOND)
    state = scheduler.page().schedule
    assert (state.error, list(state.changed), state.loaded_us) == ("", ["extra", "nightly"], scheduler.now_us)
    assert set(scheduler.listed()) == {"nightly", "weekly", "sweep", "later", "extra"}
    scheduler.load = 90.0
    scheduler.advance(HOUR + 600 * SECOND)
    assert scheduler.outcomes("extra") == ["fired"]
    assert scheduler.outcomes("nightly") == ["planned"], "half past twelve, waiting for idleness"


def test_what_did_not_change_keeps_its_place_over_a_reload(scheduler: Watched) -> None:
    scheduler.advance(600 * SECOND)
    scheduler.write(SCHEDULE.replace("max_duration: 600", "max_duration: 700"))
    scheduler.advance(300 * SECOND, steps=2)
    assert scheduler.outcomes("sweep") == ["fired", "fired"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("zone: UTC\njobs: [", "cannot be read"),
        ('jobs: {nightly: {cron: "99 * * * *", topic: memory/consolidation/start/v1/}}', "jobs.nightly.cron"),
        ('jobs: {nightly: {cron: "0 2 * * *", topic: memory/nowhere/v1/}}', "jobs.nightly.topic"),
        ('jobs: {nightly: {cron: "0 2 * * *", topic: memory/consolidation/start/v1/, prio: 3}}', "prio"),
        ("zone: Mars/Olympus\njobs: {a: {cron: '0 2 * * *', topic: memory/working/sweep/v1/}}", "zone"),
    ],
)
def test_a_wrong_file_keeps_the_schedule_of_before_and_says_why(scheduler: Watched, wrong: str, said: str) -> None:
    scheduler.write(wrong)
    scheduler.advance(DAY)
    assert said in scheduler.page().schedule.error
    assert said in str(scheduler.handlers.status()["schedule_error"])
    assert len(scheduler.fired()) == 1, "the night of before has fired"
    scheduler.write(SCHEDULE)
    scheduler.advance(SECOND)
    assert scheduler.page().schedule.error == ""


def test_a_file_that_goes_away_leaves_that_of_the_package(scheduler: Watched) -> None:
    scheduler.file.unlink()
    scheduler.advance(SECOND)
    assert "consolidation" in scheduler.listed()


def test_a_start_with_a_wrong_file_is_refused(scheduler: Watched) -> None:
    scheduler.write("jobs: 3")
    with pytest.raises(ConfigurationInvalid):
        scheduler.restart()


def test_reading_again_by_hand_answers_what_is_wrong_or_what_changed(scheduler: Watched) -> None:
    scheduler.write("jobs: 3")
    assert "jobs" in scheduler.reload().error
    scheduler.write(SCHEDULE.replace('"*/10 * * * *"', '"*/20 * * * *"'))
    assert list(scheduler.reload().changed) == ["sweep"]
    scheduler.advance(SECOND)
    assert scheduler.listed()["sweep"].cron == "*/20 * * * *"
    assert list(scheduler.reload().changed) == []


def test_a_schedule_that_is_not_in_force_is_an_alarm_until_it_is_right(scheduler: Watched) -> None:
    assert scheduler.handlers.status()["alarms"] == []
    scheduler.write(SCHEDULE.replace("0 2 * * *", "0 25 * * *"))
    scheduler.advance(SECOND)
    (alarm,) = scheduler.handlers.status()["alarms"]  # type: ignore[misc]
    assert alarm["code"] == "schedule_not_in_force" and "jobs.nightly.cron" in alarm["detail"]
    scheduler.write(SCHEDULE)
    scheduler.advance(SECOND)
    assert scheduler.handlers.status()["alarms"] == []


def test_a_job_that_is_taken_off_while_it_runs_is_cancelled(scheduler: Watched) -> None:
    scheduler.tell(sleep_pb2.TriggerJob(job="nightly"))
    scheduler.write(SCHEDULE.replace("  nightly:", "  another:"))
    scheduler.advance(SECOND, steps=2)
    assert scheduler.outcomes("nightly") == ["failed"]
    (cancelled,) = scheduler.fired("scheduler/cancelled")
    assert "taken off" in cancelled.reason


def test_a_running_job_is_ended_by_hand_and_its_worker_is_told_once(scheduler: Watched) -> None:
    fired = scheduler.tell(sleep_pb2.TriggerJob(job="nightly"), 1)
    assert scheduler.listed()["nightly"].running == fired.firing_id
    answer = scheduler.tell(sleep_pb2.CancelJob(job="nightly"), 2)
    assert (answer.firing_id, answer.outcome, answer.detail) == (fired.firing_id, "failed", "Cancelled by hand")
    (cancelled,) = scheduler.fired("scheduler/cancelled")
    assert (cancelled.firing_id, cancelled.topic) == (fired.firing_id, "memory/consolidation/start/v1/")
    assert scheduler.listed()["nightly"].running == ""
    with pytest.raises(NotFound, match="nightly"):
        scheduler.tell(sleep_pb2.CancelJob(job="nightly"), 3)
    end = sleep_pb2.ConsolidationComplete(firing_id=fired.firing_id, outcome="cancelled")
    scheduler.tell(end, 4, reply_to="")
    assert scheduler.page().firings[0].detail == "Cancelled by hand", "what ended it stays"


def test_a_job_that_waits_its_turn_is_taken_off_by_hand(scheduler: Watched) -> None:
    first = scheduler.tell(sleep_pb2.TriggerJob(job="nightly"), 1)
    second = scheduler.tell(sleep_pb2.TriggerJob(job="weekly"), 2)
    assert second.outcome == "planned"
    answer = scheduler.tell(sleep_pb2.CancelJob(firing_id=second.firing_id), 3)
    assert (answer.outcome, answer.detail) == ("missed", "Cancelled by hand")
    assert scheduler.fired("scheduler/cancelled") == [], "no worker has heard of it"
    scheduler.tell(sleep_pb2.JobFinished(firing_id=first.firing_id, outcome="done"), 4, reply_to="")
    scheduler.advance(SECOND)
    assert scheduler.fired("semantic/evolve") == []


def test_the_schedule_of_the_package_is_in_force_where_the_home_has_none(tmp_path: Path) -> None:
    watch = ScheduleWatch(Home(tmp_path), START)
    assert watch.state.path.endswith("schedule.yaml")
    assert "consolidation" in watch.state.jobs
    assert not watch.look(START + SECOND)

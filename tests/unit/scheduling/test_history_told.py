"""What the history of jobs tells of a firing that has ended: what came of it, why it failed, how long it took."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from aico_memory.contracts.v1 import sleep_pb2
from aico_memory.runtime.schedule_file import parse_schedule
from tests.unit.scheduling.test_scheduler_handlers import SCHEDULE, SECOND, START, Scheduler


@pytest.fixture
def scheduler(tmp_path: Path) -> Scheduler:
    path = tmp_path / "schedule.yaml"
    path.write_text(SCHEDULE)
    return Scheduler(parse_schedule(path))


@pytest.mark.parametrize(("status", "told"), [("done", "2 users; promoted 3"), ("failed", "The time budget is used up")])
def test_the_history_tells_what_a_night_did_or_why_it_failed(scheduler: Scheduler, status: str, told: str) -> None:
    fired = scheduler.tell(sleep_pb2.TriggerJob(job="nightly"))
    outcome = {"done": "complete"}.get(status, status)
    end = sleep_pb2.ConsolidationComplete(firing_id=fired.firing_id, outcome=outcome, finished_us=scheduler.now_us + SECOND)
    scheduler.tell(end, 2, reply_to="")
    finished = sleep_pb2.JobFinished(
        firing_id=fired.firing_id, outcome=status, at_us=scheduler.now_us + SECOND, detail=told
    )  # fmt: skip
    scheduler.tell(finished, 3, reply_to="")
    (firing,) = scheduler.page().firings
    assert (firing.outcome, firing.detail, firing.seconds) == (status, told, 1.0)


def test_an_end_that_names_no_time_is_when_it_was_heard(scheduler: Scheduler) -> None:
    fired = scheduler.tell(sleep_pb2.TriggerJob(job="nightly"))
    scheduler.advance(90 * SECOND)
    scheduler.tell(sleep_pb2.JobFinished(firing_id=fired.firing_id, outcome="done"), 2, reply_to="")
    assert scheduler.page().firings[0].seconds == 90.0


def test_a_run_that_was_started_past_the_scheduler_stands_in_the_history(scheduler: Scheduler) -> None:
    end = sleep_pb2.ConsolidationComplete(
        run_id=str(uuid.UUID(int=3)), firing_id="manual/ab", outcome="complete", started_us=START, finished_us=START + SECOND,
        users=2, experiences=5, phases=[sleep_pb2.PhaseReport(phase="places", counts={"seen": 9, "promoted": 3})],
    )  # fmt: skip
    scheduler.tell(end, 1, reply_to="")
    scheduler.tell(end, 2, reply_to="")
    (firing,) = scheduler.page().firings
    assert (firing.job, firing.outcome, firing.manual, firing.seconds) == ("nightly", "done", True, 1.0)
    assert firing.detail == "2 users; 5 experiences replayed; promoted 3"


@pytest.mark.parametrize(("error", "told"), [("Cancelled by hand", "Cancelled by hand"), ("", "cancelled")])
def test_of_a_run_past_the_scheduler_the_history_tells_why_it_failed(scheduler: Scheduler, error: str, told: str) -> None:
    end = sleep_pb2.ConsolidationComplete(
        run_id=str(uuid.UUID(int=3)), firing_id="manual/ab", outcome="cancelled", finished_us=START, error=error
    )
    scheduler.tell(end, 1, reply_to="")
    (firing,) = scheduler.page().firings
    assert (firing.outcome, firing.detail) == ("failed", told)

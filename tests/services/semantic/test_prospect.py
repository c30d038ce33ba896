"""Plans whose time comes, and jobs that nobody waits for any more."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pytest

from aico_memory.contracts.v1 import semantic_pb2, sleep_pb2
from services.context.caching import watched_topics
from tests.services.semantic.statements import items, message
from tests.services.semantic.worker import START, Worker

SECOND = 1_000_000
HOUR = 3_600 * SECOND
DAY = 24 * HOUR


@pytest.fixture
def worker(tmp_path):
    made = Worker(tmp_path / "home", {"due_lead_hours": 24, "due_at_once": 2})
    yield made
    made.handlers.close()


def look(worker: Worker, at_us: int) -> list[semantic_pb2.ForesightDue]:
    """What is announced at that moment."""
    worker.handlers.state.settle_outgoing([one.event_id for one in worker.handlers.state.outgoing(1000)])
    worker.began_us = at_us
    worker.tell(semantic_pb2.AnnounceDue(firing_id="f", planned_at_us=at_us), user="")
    return worker.emitted(("due", semantic_pb2.ForesightDue))


def test_a_plan_is_announced_once_when_its_time_comes_also_over_a_restart(worker):
    worker.tell(message("We plan to migrate the database.", "ada"))
    (plan,) = [one.memory for one in items(worker) if one.memory.kind == "plan"]
    assert look(worker, START + 5 * DAY) == []
    (told,) = look(worker, START + 6 * DAY + HOUR)
    assert (told.user_id, told.due_us) == ("ada", plan.valid_until_us - DAY)
    assert look(worker, START + 6 * DAY + 2 * HOUR) == []
    worker.restart()
    assert look(worker, START + 6 * DAY + 3 * HOUR) == []


def test_more_than_fits_into_one_look_follows_with_the_next_and_the_earliest_goes_first(worker):
    for user in ("ada", "ben", "carl"):
        worker.tell(message("We plan to migrate the database.", user), user)
    first = look(worker, START + 10 * DAY)
    assert [one.user_id for one in first] == ["ada", "ben"], "late is better than never"
    assert [one.user_id for one in look(worker, START + 10 * DAY)] == ["carl"]


def test_what_begins_on_a_named_day_is_announced_on_that_day(worker):
    worker.tell(message("I'm going to visit my aunt on 21 September.", "ada"))
    (plan,) = [one.memory for one in items(worker) if one.memory.kind == "plan"]
    day_us = int(datetime(2026, 9, 21, tzinfo=UTC).timestamp()) * 1_000_000
    assert (plan.valid_from_us, plan.valid_until_us) == (START + SECOND, day_us + DAY), "it is a plan from when it was told"
    assert look(worker, day_us - HOUR) == []
    (told,) = look(worker, day_us)
    assert told.due_us == day_us


def test_what_holds_from_a_named_day_on_is_announced_on_that_day(worker):
    worker.tell(message("I am working on the migration from 21 September.", "ada"))
    (task,) = [one.memory for one in items(worker) if one.memory.kind == "task_state"]
    assert task.valid_from_us > START
    assert look(worker, task.valid_from_us - HOUR) == []
    (told,) = look(worker, task.valid_from_us)
    assert told.due_us == task.valid_from_us


def test_what_is_no_plan_and_what_was_withdrawn_is_not_announced(worker):
    worker.tell(message("My bike is red.", "ada"))
    worker.tell(message("We plan to migrate the database.", "ada"))
    (plan,) = [one.memory for one in items(worker) if one.memory.kind == "plan"]
    worker.tell(semantic_pb2.InvalidateMemory(user_id="ada", memory_id=str(uuid.UUID(bytes=plan.memory_id))))
    assert look(worker, START + 10 * DAY) == []


def test_a_cancelled_job_ends_and_reports_nothing(worker):
    worker.tell(message("My bike is red.", "ada"))
    worker.tell(semantic_pb2.Evolve(firing_id="f-1", planned_at_us=START), user="")
    (job,) = worker.handlers.state.sleep_jobs()
    worker.tell(sleep_pb2.JobCancelled(firing_id="another"), user="")
    assert worker.handlers.state.sleep_jobs() == [job]
    worker.tell(sleep_pb2.JobCancelled(firing_id="f-1", reason="It took too long"), user="")
    assert worker.handlers.state.sleep_jobs() == []
    assert worker.emitted(("finished", sleep_pb2.JobFinished)) == []


def test_looking_for_what_is_due_ends_no_kept_answer():
    assert "memory/semantic/announce/v1/" not in watched_topics()
    assert "memory/semantic/sleep/v1/" not in watched_topics()
    assert "memory/semantic/changed/v1/" in watched_topics()

"""Jobs over all owners: step by step in their turn, through a kill, and with an end that the history can tell."""

from __future__ import annotations

from typing import Any

import pytest

from aico_memory.contracts.envelope import open_record
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import semantic_pb2, sleep_pb2, working_pb2
from aico_memory.contracts.wire import StampedRecord
from aico_memory.domain.memory import Memory, Scope
from aico_memory.domain.sleep import names
from tests.services.semantic.statements import items, message
from tests.services.semantic.test_sleep_phases import at, put
from tests.services.semantic.worker import START, Worker
from tests.support.sleeping import slumber

DAY = 86_400_000_000
MONTH = START + 30 * DAY
STEPS = topic_of(sleep_pb2.SleepStep).name


@pytest.fixture
def worker(tmp_path):
    made = Worker(tmp_path / "home", {"sleep_step_items": 3})
    yield made
    made.handlers.close()


def waiting_step(worker: Worker) -> Any:
    """The step that the worker asked itself for, as the bus brings it."""
    outgoing = worker.handlers.state.outgoing(1000)
    steps = [one for one in outgoing if one.topic == STEPS]
    worker.handlers.state.settle_outgoing([one.event_id for one in outgoing if one.topic != FINISHED])
    assert len(steps) <= 1
    return steps[0] if steps else None


FINISHED = topic_of(sleep_pb2.JobFinished).name


def run(worker: Worker, job: Any, killed_after: int = -1) -> sleep_pb2.JobFinished:
    """A job to its end, the worker killed on the way."""
    worker.began_us = MONTH
    worker.tell(job, user="")
    for number in range(200):
        record = waiting_step(worker)
        if record is None:
            finished = worker.emitted(("finished", sleep_pb2.JobFinished))
            worker.handlers.state.settle_outgoing([one.event_id for one in worker.handlers.state.outgoing(1000)])
            return finished[-1] if finished else sleep_pb2.JobFinished()
        if number == killed_after:
            worker.restart()
            again(worker, record)
        again(worker, record)
    raise AssertionError("The job does not end")


def again(worker: Worker, record: Any) -> None:
    worker.sequence += 1
    event = open_record(
        StampedRecord(
            record.topic, record.event_id, record.user, record.envelope, "semantic", worker.sequence, worker.sequence, MONTH
        )
    )
    with worker.handlers.state.transaction() as transaction:
        worker.handlers.apply(transaction, event)
    worker.handlers.after_commit()


def stabilities(worker: Worker, scope: Scope) -> list[float]:
    return [round(one.memory.stability, 3) for one in items(worker, scope)]


def test_rehearsal_goes_through_all_owners_and_tells_its_end(worker):
    for number in range(1, 6):
        put(worker, number)
    put(worker, 9, owner="ben", scope=Scope("user", "ben"))
    worker.tell(working_pb2.Message(user_id="cem", role="user", content="Hello there", session_id="s"), "cem")
    finished = run(worker, semantic_pb2.Rehearse(firing_id="f1"))
    assert (finished.firing_id, finished.outcome) == ("f1", "done")
    assert finished.at_us == 0, "when it is over is known to who hears of it: an event has the time of what led to it"
    assert finished.detail.startswith("3 users; rehearsal seen 6; rehearsed 6; rehearsed ")
    assert stabilities(worker, Scope("user", "ada")) == [3.0] * 5
    assert stabilities(worker, Scope("user", "ben")) == [3.0]
    assert worker.handlers.state.sleep_jobs() == []
    assert "sleep_jobs" not in worker.handlers.status()


def test_a_job_and_a_night_of_the_same_period_do_it_once(worker):
    for number in range(1, 6):
        put(worker, number)
    slumber(worker, names.REHEARSAL, MONTH - DAY // 2)
    assert run(worker, semantic_pb2.Rehearse(firing_id="f1")).detail == "1 users"
    assert stabilities(worker, Scope("user", "ada")) == [3.0] * 5
    run(worker, semantic_pb2.Evolve(firing_id="f2"))
    before = [one.memory for one in items(worker)]
    assert slumber(worker, names.DECAY, MONTH + DAY // 2).counts["decayed"] == 0
    assert [one.memory for one in items(worker)] == before


@pytest.mark.parametrize("killed_after", [0, 1, 3])
def test_a_kill_on_the_way_changes_nothing(tmp_path, killed_after):
    ends: list[list[Memory]] = []
    for place, killed in enumerate((-1, killed_after)):
        worker = Worker(tmp_path / str(place), {"sleep_step_items": 2})
        for number in range(1, 8):
            put(worker, number, owner=("ada", "ben")[number % 2], scope=Scope("user", ("ada", "ben")[number % 2]))
        assert run(worker, semantic_pb2.Evolve(firing_id="f"), killed).outcome == "done"
        ends.append([one.memory for user in ("ada", "ben") for one in items(worker, Scope("user", user))])
        worker.handlers.close()
    assert ends[0] == ends[1]
    assert all(one.confidence == pytest.approx((1 - 0.015) ** 30, rel=1e-4) for one in ends[0])


def test_a_job_of_one_user_leaves_the_others_alone_and_without_a_firing_ends_silently(worker):
    put(worker, 1)
    put(worker, 2, owner="ben", scope=Scope("user", "ben"))
    assert run(worker, semantic_pb2.Rehearse(user_id="ben")).outcome == ""
    assert (stabilities(worker, Scope("user", "ada")), stabilities(worker, Scope("user", "ben"))) == ([2.0], [3.0])


def test_the_week_tells_trends_and_what_changed_once(worker):
    for number, weight in enumerate((82, 81, 80, 79, 78, 77)):
        worker.began_us = START + number * DAY
        worker.tell(message(f"Remember that my weight is {weight} kg"))
    worker.began_us = MONTH - 2 * DAY
    worker.tell(message("I like tea"))
    worker.tell(message("I no longer like tea"))
    finished = run(worker, semantic_pb2.Evolve(firing_id="f1"))
    assert "trends: falling 1" in finished.detail and "preferences expired 1" in finished.detail
    (now,) = [one.memory for one in items(worker) if one.value == "77 kg"]
    (told,) = [one for one in worker.handlers.state.evolution(now.memory_id) if one.what == "trend"]
    assert told.new_value.startswith("falling: -1 a day over 6 values")
    assert "trends" not in run(worker, semantic_pb2.Evolve(firing_id="f2")).detail


def test_clean_up_drops_old_changes_and_lets_old_records_rest(worker):
    worker.began_us = START - 500 * DAY
    worker.tell(message("I live in Rome"))
    worker.tell(message("I live in Oslo"))
    worker.began_us = START
    worker.tell(message("I live in Bern"))
    finished = run(worker, semantic_pb2.CleanUp(firing_id="f1"))
    assert finished.outcome == "done"
    assert "rested_records 2" in finished.detail and "dropped_changes" in finished.detail
    worker.handlers.settled(worker.sequence)
    records = worker.ask(semantic_pb2.ListMemories(user_id="ada")).records
    assert sorted((one.text, one.tier) for one in records if one.kind == "record") == [
        ("I live in Bern", "episodic"), ("I live in Oslo", "dormant"), ("I live in Rome", "dormant")
    ]  # fmt: skip
    worker.settle()
    assert set(worker.found("Where do I live in Rome?")["text"]) >= {"I live in Rome"}
    assert "rested_records" not in run(worker, semantic_pb2.CleanUp(firing_id="f2")).detail


def test_a_rule_that_fails_is_told_at_the_end(worker, monkeypatch):
    put(worker, 1)
    decay = worker.handlers._jobs._stepping._phases[names.DECAY]
    monkeypatch.setattr(decay, "step", lambda transaction, step: {}["nothing"])
    finished = run(worker, semantic_pb2.Evolve(firing_id="f1"))
    assert (finished.outcome, finished.detail.split("; ")[-1]) == ("failed", "error: KeyError")
    assert at(worker, (1).to_bytes(16, "big")).confidence == 1.0

"""What is told of runs: progress, who is where, what waits, how long it will take, and the end of a cancelled one."""

from __future__ import annotations

import pytest

from aico_memory.contracts.envelope import open_record
from aico_memory.contracts.v1 import sleep_pb2
from aico_memory.contracts.wire import StampedRecord
from aico_memory.domain.consolidation.cycle import DAY_US
from aico_memory.domain.sleep.names import NAMES, REPLAY
from aico_memory.errors import AccessDenied
from aico_memory.settings.consolidation import ConsolidationSettings
from services.consolidation.handlers import JOB_CANCELLED
from tests.unit.consolidation.world import START_US, World, ask, slept


def test_a_cancelled_job_ends_its_run_and_no_other() -> None:
    world = World()
    world.hold_replays = True
    world.sleepers.items = {"alice": 5}
    world.start("firing", manual=True)
    world.settle()
    other = world.event(sleep_pb2.JobCancelled(firing_id="another", reason="too long"))
    assert other.topic == JOB_CANCELLED
    world.inbox.append(other)
    world.settle()
    assert world.runs()[0].status == "active"
    world.inbox.append(world.event(sleep_pb2.JobCancelled(firing_id="firing", reason="It ran for longer than 60 s")))
    world.settle()
    (run,) = world.runs()
    assert (run.status, run.error) == ("cancelled", "It ran for longer than 60 s")
    done = len(world.sleepers.steps)
    world.inbox += world.deferred
    world.settle()
    assert len(world.sleepers.steps) == done, "the step under way is written down, and no other is sent"
    assert dict(world.runs()[0].phases[0].counts)["batches_done"] == 1


def test_progress_tells_of_batches_phases_and_users() -> None:
    world = World()
    world.say("alice", 1)
    slept(world, alice=3)
    told = []
    for record in world.ephemeral:
        stamped = StampedRecord(record.topic, record.event_id, record.user, record.envelope, "consolidation", 1, 1, 1)
        progress = open_record(stamped).message
        told.append((progress.phase, progress.event, progress.done, progress.phases_done))
    assert told[:3] == [(REPLAY, "phase", 1, 1), ("decay", "batch", 1, 1), ("decay", "phase", 2, 2)]
    assert told[-1] == ("index", "user", 2, len(NAMES))


def test_status_names_who_is_at_which_phase() -> None:
    world = World()
    world.hold_replays = True
    world.sleepers.items = {"alice": 5}
    assert ask(world, sleep_pb2.SleepStatusRequest()).status == "idle"
    world.start("firing", manual=True)
    world.settle()
    status = ask(world, sleep_pb2.SleepStatusRequest())
    assert (status.status, status.run.users, len(status.at_work)) == ("active", 1, 1)
    assert (status.at_work[0].user_id, status.at_work[0].phase) == ("alice", "decay")
    with pytest.raises(AccessDenied):
        ask(world, sleep_pb2.SleepStatusRequest(user_id="alice"), user="bob")


def test_whoever_asks_for_one_user_hears_nothing_of_what_a_run_did_to_others() -> None:
    world = World()
    world.say("alice", 1)
    (run,) = slept(world, alice=5, bob=1)
    assert run.phases
    asked = sleep_pb2.SleepStatusRequest(user_id="bob")
    assert ask(world, asked).last.phases == run.phases, "an identity without bounds names nobody in the header"
    last = ask(world, asked, user="bob").last
    assert (last.run_id, last.status) == (run.run_id, "complete")
    assert not (last.phases or last.before or last.after or last.experiences)


def test_what_waits_is_told_by_user() -> None:
    world = World()
    for number in range(3):
        world.say("alice", number)
    world.say("bob", 1, received_us=START_US - DAY_US)
    page = ask(world, sleep_pb2.PendingRequest())
    assert [(one.user_id, one.experiences) for one in page.users] == [("alice", 3), ("bob", 1)]
    (bob,) = ask(world, sleep_pb2.PendingRequest(user_id="bob"), user="bob").users
    assert bob.oldest_us == START_US - DAY_US
    assert list(ask(world, sleep_pb2.PendingRequest(user_id="nobody")).users) == []


def test_an_estimate_is_a_guess_first_and_is_reckoned_from_earlier_runs_then() -> None:
    settings = ConsolidationSettings(guessed_seconds_per_experience=1.0, guessed_seconds_per_item=0.5)
    world = World(settings=settings)
    for number in range(4):
        world.say("alice", number)
    world.sleepers.items = {"alice": 10, "bob": 2}
    guess = ask(world, sleep_pb2.EstimateRequest(manual=True))
    assert (guess.users, guess.full, guess.experiences, guess.items) == (2, 2, 4, 12)
    assert guess.seconds == 4 * 1.0 + 15 * 12 * 0.5
    named = ask(world, sleep_pb2.EstimateRequest(user_ids=["bob"], phases=["decay"]))
    assert (named.users, named.experiences, named.seconds) == (1, 0, 1.0)
    world.hold_replays = True
    world.start("measured", manual=True)
    world.settle()
    while world.deferred:
        world.now_us += 2_000_000
        world.inbox.append(world.event(world.deferred.pop(0).message))
        world.settle()
    told = {one.phase: one for one in ask(world, sleep_pb2.EstimateRequest(manual=True)).phases}
    assert told["decay"].runs == 1
    assert told["decay"].seconds != 12 * 0.5

"""Whole runs against in-memory twins of the other workers."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aico_memory.contracts.v1 import semantic_pb2, sleep_pb2, working_pb2
from aico_memory.domain.consolidation.shard import shard_of
from aico_memory.errors import InvalidMessage, NotFound
from aico_memory.settings.consolidation import ConsolidationSettings
from aico_memory.stores.consolidation.sql import SqlConsolidationStore
from tests.unit.consolidation.world import SECOND, START_US, Killed, World

FIRING = "01a0c450-6c00-71ea-9e1c-4ea3ac0874a7"
DAY = 86_400 * SECOND


def talked(world: World, **messages: int) -> dict[str, list[bytes]]:
    return {user: [world.say(user, number) for number in range(count)] for user, count in messages.items()}


def replayed_ids(world: World) -> Counter[bytes]:
    return Counter(event_id for replay in world.replays for event_id in replay.event_ids)


def test_every_pending_experience_of_everybody_is_replayed_once_and_acknowledged() -> None:
    world = World()
    said = talked(world, alice=7, bob=1, carol=3)
    world.start(FIRING)
    world.settle()
    everything = {one for ids in said.values() for one in ids}
    assert replayed_ids(world) == dict.fromkeys(everything, 1)
    assert world.pending() == set()
    assert all(list(one.memory_ids) == [uuid.UUID(bytes=key).hex] for key, one in world.held.items()), "with what it led to"
    (complete,) = world.said(sleep_pb2.ConsolidationComplete)
    assert (complete.outcome, complete.users, complete.experiences, complete.firing_id) == ("complete", 3, 11, FIRING)
    report = complete.phases[0]
    assert (report.phase, dict(report.counts)["replayed"], dict(report.counts)["memories"]) == ("replay", 11, 11)
    (finished,) = world.said(sleep_pb2.JobFinished)
    assert (finished.firing_id, finished.outcome) == (FIRING, "done")


def test_batches_are_cut_to_size_and_go_one_after_the_other() -> None:
    world = World()
    talked(world, alice=7)
    world.start()
    world.settle()
    assert [(replay.batch, len(replay.event_ids)) for replay in world.replays] == [(0, 3), (1, 3), (2, 1)]


def test_a_start_that_is_announced_twice_is_one_run() -> None:
    world = World()
    talked(world, alice=2)
    world.start(FIRING)
    world.start(FIRING)
    world.settle()
    world.start(FIRING)
    world.settle()
    assert len(world.runs()) == 1
    assert len(world.replays) == 1


def test_what_is_said_after_the_start_waits_for_the_next_run() -> None:
    world = World()
    early = world.say("alice", 1)
    world.start("first")
    # The clock stands still: only the order on the bus tells the two apart.
    late = world.say("alice", 2)
    world.settle()
    assert replayed_ids(world) == {early: 1}
    assert world.pending() == {late}
    world.start("second")
    world.settle()
    assert replayed_ids(world) == {early: 1, late: 1}


def test_two_runs_go_one_after_the_other_and_replay_nothing_twice() -> None:
    world = World()
    said = talked(world, alice=5)
    world.start("first")
    said["alice"].append(world.say("alice", 99))
    world.start("second")
    world.settle()
    assert replayed_ids(world) == dict.fromkeys(said["alice"], 1)
    assert [run.status for run in world.runs()] == ["complete", "complete"]


def test_at_most_four_users_are_at_work_at_once() -> None:
    world = World()
    world.hold_replays = True
    talked(world, **{f"user{number}": 2 for number in range(11)})
    world.start()
    world.settle()
    assert len({replay.user_id for replay in world.replays}) == 4, "four wait for their batch, nobody else has begun"
    while world.deferred:
        world.inbox.append(world.deferred.pop())
        world.settle()
    assert len(world.replays) == 11
    assert world.most_users_at_work == 4
    assert world.runs()[0].status == "complete"


def test_the_users_with_the_most_to_tell_go_first() -> None:
    world = World(settings=ConsolidationSettings(batch_size=10, users_at_once=1))
    talked(world, alice=1, bob=5, carol=3)
    world.start()
    world.settle()
    assert [replay.user_id for replay in world.replays] == ["bob", "carol", "alice"]


def test_only_the_users_that_were_named_are_consolidated() -> None:
    world = World()
    said = talked(world, alice=2, bob=2)
    world.start(user_ids=["bob", "nobody"], manual=True)
    world.settle()
    assert replayed_ids(world) == dict.fromkeys(said["bob"], 1)
    assert world.runs()[0].users == 2


def test_a_phase_that_does_not_exist_fails_the_run_and_says_which_do() -> None:
    world = World()
    talked(world, alice=1)
    world.start(FIRING, phases=["replay", "levitation"])
    world.settle()
    (run,) = world.runs()
    assert run.status == "failed"
    assert "'levitation'" in run.error and "replay" in run.error and "invalid_message" in run.error
    assert world.replays == []
    assert world.said(sleep_pb2.JobFinished)[0].outcome == "failed"


def test_a_run_waits_until_working_memory_knows_what_was_said_before() -> None:
    world = World()
    talked(world, alice=3)
    world.working_applied = 1
    world.start()
    world.settle()
    assert world.replays == []
    assert world.runs()[0].status == "waiting"
    world.working_applied = None
    world.settle()
    assert sum(replayed_ids(world).values()) == 3


def test_questions_without_an_answer_are_asked_again() -> None:
    world = World()
    said = talked(world, alice=3, bob=3)
    world.silent = 9
    world.start()
    world.settle()
    assert world.silent == 0
    assert replayed_ids(world) == dict.fromkeys(said["alice"] + said["bob"], 1)


def test_a_night_without_experiences_is_a_complete_run() -> None:
    world = World()
    world.start(FIRING)
    world.settle()
    (complete,) = world.said(sleep_pb2.ConsolidationComplete)
    assert (complete.outcome, complete.users, complete.experiences) == ("complete", 0, 0)


def test_a_report_that_comes_twice_counts_once() -> None:
    world = World()
    talked(world, alice=2)
    world.start()
    world.settle()
    again = world.replayed(world.replays[0], "again")
    again.message.ClearField("memory_ids")
    world.inbox += [again, world.replayed(world.replays[0], "and again")]
    world.settle()
    assert len(world.ephemeral) == 1, "progress is told once"
    assert world.runs()[0].phases[0].counts["memories"] == 2, "the first report stands"
    assert len(world.said(working_pb2.Consolidated)) == 1
    assert world.runs()[0].experiences == 2


@pytest.mark.parametrize("run_id", ["", "no uuid", str(uuid.UUID(int=77))])
def test_a_report_that_belongs_to_no_run_is_ignored(run_id: str) -> None:
    world = World()
    report = semantic_pb2.ExperiencesReplayed(run_id=run_id, user_id="alice", batch=0)
    world.inbox.append(world.event(report))
    world.settle()
    assert world.published == {}


def test_a_cancelled_run_sends_no_more_batches_and_acknowledges_the_one_under_way() -> None:
    world = World()
    world.hold_replays = True
    talked(world, alice=7)
    world.start(FIRING)
    world.settle()
    world.cancel(world.runs()[0].run_id)
    world.settle()
    assert world.runs()[0].status == "cancelled"
    assert world.said(sleep_pb2.ConsolidationComplete)[0].outcome == "cancelled"
    world.inbox += world.deferred
    world.settle()
    assert len(world.replays) == 1
    assert len(world.pending()) == 4
    world.hold_replays = False
    world.start("the next night")
    world.settle()
    assert world.pending() == set()
    assert max(replayed_ids(world).values()) == 1


def test_a_cancel_without_a_name_means_the_run_at_work() -> None:
    world = World()
    world.hold_replays = True
    talked(world, alice=2)
    world.start()
    world.settle()
    world.cancel()
    world.cancel()
    world.settle()
    assert [run.status for run in world.runs()] == ["cancelled"]


def test_a_run_past_its_time_budget_ends_and_leaves_the_rest_to_the_next() -> None:
    world = World()
    world.hold_replays = True
    talked(world, alice=7)
    world.start(FIRING)
    world.settle()
    world.now_us += 3601 * SECOND
    world.settle()
    (run,) = world.runs()
    assert run.status == "failed"
    assert "3600 s" in run.error
    world.hold_replays = False
    world.inbox += world.deferred
    world.start("the next night")
    world.settle()
    assert world.pending() == set()


def test_progress_is_told_and_adds_up() -> None:
    world = World()
    talked(world, alice=7)
    world.start()
    world.settle()
    told = [record for record in world.ephemeral if record.topic == "memory/consolidation/progress/v1/"]
    assert len(told) == 3


def test_runs_are_found_by_id_and_by_firing() -> None:
    world = World()
    world.start(FIRING)
    world.settle()
    (run,) = world.runs(firing_id=FIRING)
    assert world.runs(run_id=run.run_id) == [run]
    with pytest.raises(NotFound):
        world.runs(firing_id="another")
    with pytest.raises(NotFound):
        world.runs(run_id="no uuid")


def test_status_says_what_is_going_on() -> None:
    world = World()
    world.hold_replays = True
    talked(world, alice=7)
    assert world.handlers.status()["status"] == "idle"
    world.start()
    world.settle()
    status = world.handlers.status()
    assert (status["status"], status["users"], status["experiences"], status["replayed"]) == ("active", {"active": 1}, 7, 0)


def scenario(world: World) -> None:
    """Two nights of three users; days apart, some with feedback, and items in long-term memory of two and of a third."""
    world.sleepers.items |= {"alice": 5, "bob": 3, "ray": 4}
    for number in range(7):
        world.say("alice", number, feedback=number == 3, received_us=START_US - number * DAY)
        world.say("bob", number, received_us=START_US)
    world.start("first", shard=shard_of("alice"))
    world.say("carol", 1)
    world.start("second", manual=True)


def test_the_same_stream_is_replayed_in_the_same_order_whatever_the_pages_and_sizes() -> None:
    exports = []
    for page_size, batch_size in ((2, 3), (3, 3), (500, 100)):
        world = World(settings=ConsolidationSettings(batch_size=batch_size, page_size=page_size))
        scenario(world)
        world.settle()
        exports.append(world.export())
    assert exports[0] == exports[1] == exports[2]
    replayed = [line for line in map(json.loads, exports[0]) if line["phase"] == "replay"]
    assert len(replayed) == 15, "a line an experience"
    assert len({line["event"] for line in replayed}) == 15
    first = json.loads(exports[0][0])
    assert not {"started", "finished", "sent"} & set(first), "no wall times in the canonical export"


def test_an_export_that_begins_nowhere_is_refused() -> None:
    with pytest.raises(InvalidMessage):
        World().handlers.export("", "nowhere", 5)


UNINTERRUPTED = World()
scenario(UNINTERRUPTED)
UNINTERRUPTED.settle()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=8))
def test_killed_at_any_moments_a_run_ends_as_if_nothing_had_happened(fuses: list[int]) -> None:
    world = World()
    scenario(world)
    for fuse in fuses:
        world.fuse = fuse
        try:
            world.settle()
        except Killed:
            world.start_process()
    world.fuse = -1
    world.settle()
    assert max(replayed_ids(world).values()) == 1
    assert world.pending() == set()
    assert world.sleepers.changed == UNINTERRUPTED.sleepers.changed
    assert world.export() == UNINTERRUPTED.export()
    assert set(world.published) == set(UNINTERRUPTED.published)


def test_the_encrypted_store_carries_a_run_over_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "store" / "runs.db"
    store = SqlConsolidationStore.open(path, bytes(32))
    world = World(store)
    world.hold_replays = True
    scenario(world)
    world.settle()
    world.handlers.close()
    world.store = SqlConsolidationStore.open(path, bytes(32))
    world.start_process()
    world.hold_replays = False
    world.inbox += world.deferred
    world.settle()
    assert world.export() == UNINTERRUPTED.export()
    world.handlers.close()

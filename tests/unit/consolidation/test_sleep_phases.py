"""The phases behind the replay, led over a long-term memory that keeps count of what it was asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from aico_memory.contracts.v1 import sleep_pb2, working_pb2
from aico_memory.domain.consolidation.cycle import DAY_US
from aico_memory.domain.consolidation.shard import SHARDS, shard_of
from aico_memory.domain.sleep.names import NAMES, REPLAY, STEPPED
from aico_memory.errors import AccessDenied
from aico_memory.settings.consolidation import ConsolidationSettings
from tests.unit.consolidation.world import START_US, World, ask, slept


def steps_of(world: World, user: str) -> list[tuple[str, int, str]]:
    return [(step.phase, step.number, step.after) for step in world.sleepers.steps if step.user_id == user]


def test_every_phase_goes_to_its_end_before_the_next_begins() -> None:
    world = World()
    slept(world, alice=5)
    expected = [(phase, number, after) for phase in STEPPED for number, after in enumerate(("", "2", "4"))]
    assert steps_of(world, "alice") == expected
    assert {step.at_us for step in world.sleepers.steps} == {START_US + 1}, "a run decides for one moment"


def test_replay_comes_first_and_its_end_is_waited_for() -> None:
    world = World()
    world.say("alice", 1)
    world.hold_replays = True
    slept(world, alice=2)
    assert world.sleepers.steps == []
    world.hold_replays = False
    world.inbox += world.deferred
    world.settle()
    assert [phase for phase, _, _ in steps_of(world, "alice")] == list(STEPPED)


def test_phases_wait_until_what_was_replayed_is_indexed_and_no_longer_than_patience_lasts() -> None:
    world = World(settings=ConsolidationSettings(settle_seconds=400.0))
    world.say("alice", 1)
    world.semantic_settled = 0
    world.start("by hand", manual=True)
    for _ in range(200):
        world.turn()
    assert world.runs()[0].status == "waiting"
    for _ in range(205):
        world.turn()
    assert world.replays != []
    for _ in range(60):
        world.turn()
    assert world.runs()[0].status == "complete", "patience was at its end once: it is not tried again in this run"


def test_at_most_four_users_go_through_the_phases_at_once() -> None:
    world = World()
    world.hold_replays = True
    slept(world, **{f"user{number:02}": 3 for number in range(11)})
    assert len({step.user_id for step in world.sleepers.steps}) == 4
    under_way: list[int] = []
    while world.deferred:
        under_way.append(len(world.deferred))
        world.inbox.append(world.deferred.pop(len(world.deferred) // 2))
        world.settle()
    assert max(under_way) == 4
    assert world.most_users_at_work == 4
    assert Counter(step.user_id for step in world.sleepers.steps) == {f"user{number:02}": 30 for number in range(11)}
    assert world.runs()[0].status == "complete"


def test_the_report_sums_what_every_phase_did_and_explains_some_of_it() -> None:
    world = World()
    world.say("alice", 1)
    (run,) = slept(world, alice=5, bob=1)
    assert [report.phase for report in run.phases] == list(NAMES)
    decay = run.phases[1]
    assert dict(decay.counts) == {"users": 2, "batches": 4, "batches_done": 4, "seen": 6, "changed": 6}
    assert len(decay.samples) == 5
    assert decay.samples[0].rule == "each item once"
    assert dict(run.before) == {"active": 6, "dormant": 0, "ended": 0, "records": 0, "tier.episodic": 6}
    assert dict(run.after)["active"] == 6
    (complete,) = world.said(sleep_pb2.ConsolidationComplete)
    assert [report.phase for report in complete.phases] == list(NAMES)
    assert complete.before == run.before
    (finished,) = world.said(sleep_pb2.JobFinished)
    # One thing was said; six items are seen by each of the fifteen phases.
    assert finished.detail == "2 users; 1 experiences replayed; changed 90"


def test_a_part_that_fails_is_told_and_the_rest_of_its_phase_and_of_the_run_goes_on() -> None:
    world = World()
    world.sleepers.errors = {"utility": "KeyError"}
    (run,) = slept(world, alice=5)
    assert run.status == "complete"
    assert {report.phase: report.error for report in run.phases if report.error} == {"utility": "KeyError"}
    assert [after for phase, _, after in steps_of(world, "alice") if phase == "utility"] == ["", "2", "4"]
    counts = next(dict(report.counts) for report in run.phases if report.phase == "utility")
    assert (counts["seen"], counts["users_failed"]) == (3, 1)
    assert ask(world, sleep_pb2.SleepStatusRequest(user_id="alice")).full_us == 0, "the full night is still due"


@pytest.mark.parametrize("held", ["read_only", "long_term_paused"])
def test_a_part_that_is_left_as_it_is_fails_nothing(held: str) -> None:
    world = World()
    world.sleepers.errors = dict.fromkeys(STEPPED, held)
    (run,) = slept(world, alice=5)
    assert {report.error for report in run.phases if report.phase != REPLAY} == {held}
    assert {dict(report.counts)["seen"] for report in run.phases if report.phase != REPLAY} == {3}
    assert all("users_failed" not in report.counts for report in run.phases)
    assert ask(world, sleep_pb2.SleepStatusRequest(user_id="alice")).full_us == START_US + 1


def test_of_a_held_part_and_a_failed_one_the_failure_is_told() -> None:
    world = World()
    first = world.sleepers.step

    def step(asked: sleep_pb2.SleepStep) -> sleep_pb2.SleepStepDone:
        done = first(asked)
        done.error = {"": "read_only", "2": "ArithmeticError"}.get(asked.after, "long_term_paused")
        return done

    world.sleepers.step = step  # type: ignore[method-assign]
    (run,) = slept(world, alice=5, bob=1)
    decay = next(report for report in run.phases if report.phase == "decay")
    assert (decay.error, dict(decay.counts)["users_failed"]) == ("ArithmeticError", 1)


def test_sleeping_twice_changes_nothing_more() -> None:
    world = World()
    slept(world, alice=5, bob=2)
    changed = set(world.sleepers.changed)
    world.start("again", manual=True)
    world.settle()
    assert world.sleepers.changed == changed
    assert {dict(report.counts).get("changed", 0) for report in world.runs()[0].phases} == {0}


@pytest.mark.parametrize("phase", STEPPED)
def test_any_phase_runs_alone(phase: str) -> None:
    world = World()
    world.say("alice", 1)
    world.sleepers.items = {"alice": 3, "bob": 1}
    world.start("by name", phases=[phase], user_ids=["alice"], manual=True)
    world.settle()
    assert {step.phase for step in world.sleepers.steps} == {phase}
    assert {step.user_id for step in world.sleepers.steps} == {"alice"}
    assert world.replays == []


def test_replay_alone_asks_long_term_memory_for_nobody() -> None:
    world = World()
    world.say("alice", 1)
    world.sleepers.items = {"alice": 3, "bob": 1}
    world.start("by name", phases=[REPLAY])
    world.settle()
    assert len(world.replays) == 1
    assert not [one for one in world.asked if isinstance(one, sleep_pb2.SleepersRequest)]


def test_a_week_of_nights_takes_everybody_through_everything_once() -> None:
    world = World()
    users = [f"user-{number}" for number in range(12)]
    world.sleepers.items = dict.fromkeys(users, 1)
    full: Counter[str] = Counter()
    for day in range(SHARDS):
        world.now_us = START_US + day * DAY_US
        before = len(world.sleepers.steps)
        world.start(f"night {day}", shard=day)
        world.settle()
        tonight = {step.user_id for step in world.sleepers.steps[before:]}
        assert tonight == {user for user in users if shard_of(user) == day}
        full.update(tonight)
    assert full == dict.fromkeys(users, 1)


def test_a_night_that_was_missed_is_made_up_for_by_the_next_ones() -> None:
    world = World()
    world.sleepers.items = {"alice": 1}
    day = shard_of("alice")
    world.start("first sight", shard=(day + 1) % SHARDS)
    world.settle()
    assert world.sleepers.steps == []
    # Alice's own day passes with the machine off.
    world.now_us += 7 * DAY_US
    world.start("a week later", shard=(day + 1) % SHARDS)
    world.settle()
    assert {step.phase for step in world.sleepers.steps} == set(STEPPED)
    known = ask(world, sleep_pb2.SleepStatusRequest(user_id="alice"))
    assert (known.seen_us, known.full_us, known.shard) == (START_US + 1, world.now_us + 1, day)


def test_who_lived_through_much_has_a_full_night_whatever_the_day() -> None:
    world = World(settings=ConsolidationSettings(active_experiences=3))
    for number in range(3):
        world.say("alice", number)
    world.say("bob", 1)
    world.start("tonight", shard=(shard_of("alice") + 1) % SHARDS if shard_of("bob") == shard_of("alice") else 5)
    world.settle()
    assert {step.user_id for step in world.sleepers.steps} == {"alice"}


def test_what_resembles_the_last_questions_is_mostly_replayed_first() -> None:
    places = []
    for seed in range(30):
        world = World(settings=ConsolidationSettings(batch_size=1, page_size=7))
        said = [world.say("alice", number, received_us=START_US - 30 * DAY_US) for number in range(20)]
        world.sleepers.importance = {said[11]: 0.9}
        world.start(f"night {seed}", phases=[REPLAY])
        world.settle()
        places.append([replay.event_ids[0] for replay in world.replays].index(said[11]))
    # With importance 0.9 among 1/30 the odds of the first place are about 7:19; without it 1:19.
    assert sum(place < 5 for place in places) > 15


def test_what_is_judged_or_asked_after_a_night_began_does_not_change_its_order() -> None:
    def order(judged: Callable[[World], int]) -> list[bytes]:
        world = World(settings=ConsolidationSettings(batch_size=1))
        said = [world.say("alice", number, received_us=START_US - 30 * DAY_US) for number in range(20)]
        before = world.sequence
        world.start("tonight", phases=[REPLAY])
        for event_id in said[10:]:
            world.held[event_id].has_feedback = True
            world.held[event_id].feedback_sequence = judged(world) or before
        world.settle()
        (asked,) = [one for one in world.asked if isinstance(one, sleep_pb2.ImportanceRequest)]
        assert asked.before == before + 1
        return [replay.event_ids[0] for replay in world.replays]

    late, early = order(lambda world: world.sequence + 1), order(lambda world: 0)
    assert sorted(late) == sorted(early)
    assert late != early
    untouched = World(settings=ConsolidationSettings(batch_size=1))
    for number in range(20):
        untouched.say("alice", number, received_us=START_US - 30 * DAY_US)
    untouched.start("tonight", phases=[REPLAY])
    untouched.settle()
    assert late == [replay.event_ids[0] for replay in untouched.replays]


def test_a_replay_goes_on_without_importance_where_nobody_knows_it() -> None:
    world = World(settings=ConsolidationSettings(ask_times=2))
    world.say("alice", 1)

    def nobody(message: Any) -> Any:
        raise AccessDenied("not here")

    world.sleepers.importance_of = nobody  # type: ignore[method-assign]
    for number in range(9):
        world.say(f"user{number}", 1)
    world.start("tonight", phases=[REPLAY])
    world.settle()
    assert len(world.replays) == 10
    asked = [one for one in world.asked if isinstance(one, sleep_pb2.ImportanceRequest)]
    assert len(asked) <= 2 * 4, "those who were at work asked, nobody after them"


def test_a_slow_batch_makes_the_next_one_smaller() -> None:
    settings = ConsolidationSettings(batch_size=8, batch_least=1, batch_seconds=2.0)
    world = World(settings=settings)
    world.hold_replays = True
    for number in range(15):
        world.say("alice", number)
    world.start("tonight", phases=[REPLAY])
    world.settle()
    while world.deferred:
        # Twice the wished time: half as many in the next batch.
        world.now_us += 4_000_000
        report = world.deferred.pop()
        world.inbox.append(world.replayed(report.message))
        world.settle()
    assert [len(replay.event_ids) for replay in world.replays] == [8, 4, 2, 1]


def test_what_is_marked_by_hand_may_expire_without_a_replay() -> None:
    world = World()
    first, second = world.say("alice", 1), world.say("alice", 2)
    world.inbox.append(world.event(sleep_pb2.MarkConsolidated(user_id="alice", event_ids=[first])))
    world.inbox.append(world.event(sleep_pb2.MarkConsolidated(user_id="alice", event_ids=[b"short"])))
    world.settle()
    assert world.pending() == {second}
    assert len(world.said(working_pb2.Consolidated)) == 1

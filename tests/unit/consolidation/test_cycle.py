"""Who goes through which phases tonight, over weeks of users who come and go."""

from __future__ import annotations

import math
import random
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from aico_memory.domain.consolidation.cycle import CYCLE_US, DAY_US, Cycle, Night, heavy_is_due, nights_overdue, phases_tonight
from aico_memory.domain.consolidation.shard import SHARDS, shard_of
from aico_memory.domain.sleep.names import NAMES, PHASES, REPLAY, STEPPED

NOW = 20_000 * DAY_US
HOUR_US = DAY_US // 24


def night(shard: int = 0, **more: object) -> Night:
    return replace(Night(shard, NOW), **more)  # type: ignore[arg-type]


def other_day(user: str) -> int:
    return (shard_of(user) + 1) % SHARDS


def test_every_pending_experience_is_replayed_every_night_and_the_rest_waits_for_the_day() -> None:
    rested = Cycle("alice", NOW - 100 * DAY_US, full_us=NOW - DAY_US)
    assert phases_tonight("alice", 3, rested, night(other_day("alice")), PHASES) == [REPLAY]
    assert phases_tonight("alice", 0, rested, night(other_day("alice")), PHASES) == []
    assert phases_tonight("alice", 3, rested, night(shard_of("alice")), PHASES) == list(NAMES)
    assert phases_tonight("alice", 0, rested, night(shard_of("alice")), PHASES) == list(STEPPED)


def test_phases_asked_for_by_name_run_whatever_the_day_and_in_their_own_order() -> None:
    asked = night(other_day("alice"), requested=("kinds", "decay"))
    assert phases_tonight("alice", 0, None, asked, PHASES) == ["decay", "kinds"]


def test_by_hand_everything_runs() -> None:
    assert phases_tonight("alice", 1, None, night(other_day("alice"), manual=True), PHASES) == list(NAMES)


def test_who_lived_through_much_goes_through_everything_at_once() -> None:
    rested = Cycle("alice", NOW - DAY_US, full_us=NOW - DAY_US)
    busy = night(other_day("alice"), active_from=200)
    assert not heavy_is_due("alice", 199, rested, busy)
    assert heavy_is_due("alice", 200, rested, busy)
    assert not heavy_is_due("alice", 200, rested, replace(busy, active_from=0))


def test_who_was_left_out_on_the_day_is_due_on_the_next_night() -> None:
    left_out = Cycle("alice", NOW - 40 * DAY_US, full_us=NOW - CYCLE_US)
    assert heavy_is_due("alice", 0, left_out, night(other_day("alice")))
    assert not heavy_is_due("alice", 0, replace(left_out, full_us=NOW - CYCLE_US + 1), night(other_day("alice")))


@settings(max_examples=25, deadline=None)
@given(
    count=st.sampled_from((1, 2, 7, 60, 333, 1000)),
    churn=st.floats(0, 0.2),
    missed=st.sets(st.integers(0, 34), max_size=3),
    capacity=st.sampled_from((0.25, 0.4, 1.0)),
    seed=st.integers(0, 10_000),
)
def test_every_user_is_consolidated_within_the_cycle(
    count: int, churn: float, missed: set[int], capacity: float, seed: int
) -> None:
    """Five weeks: users join and leave, nights are missed, and a run may get through part of the users only."""
    rng = random.Random(seed)
    users = {f"user-{number}": 0 for number in range(count)}
    cycles: dict[str, Cycle] = {}
    full: dict[str, int] = {}
    born = count
    nights = 0
    for day in range(35):
        for user in [one for one in users if rng.random() < churn]:
            del users[user]
            users[f"user-{born}"] = day
            born += 1
        if day in missed:
            continue
        nights += 1
        at_us = NOW + day * DAY_US + rng.randrange(2 * HOUR_US)
        tonight = Night(day % SHARDS, at_us)
        for user in users:
            cycles.setdefault(user, Cycle(user, at_us))
        due = [user for user in users if phases_tonight(user, 0, cycles[user], tonight, PHASES)]
        due.sort(key=lambda one: (-nights_overdue(one, cycles[one], tonight), one))
        for user in due[: math.ceil(len(users) * capacity)]:
            cycles[user] = replace(cycles[user], full_us=at_us)
            full[user] = day
        # Should all users have the same day, a night gets through a part of them, and the next nights through the rest.
        slack = len(missed) + math.ceil(1 / capacity) - 1
        for user, since in users.items():
            waited = day - max(since, full.get(user, 0))
            assert waited <= SHARDS + slack, f"{user} has waited {waited} days on day {day}"
    assert nights


@given(st.sets(st.text(min_size=1, max_size=8), min_size=1, max_size=60), st.sets(st.text(min_size=1, max_size=8), max_size=60))
def test_a_user_keeps_the_day_when_others_come_and_go(users: set[str], others: set[str]) -> None:
    for shard in range(SHARDS):
        tonight = night(shard)
        alone = {user for user in users if heavy_is_due(user, 0, None, tonight)}
        assert {user for user in users | others if heavy_is_due(user, 0, None, tonight)} & users == alone


@settings(max_examples=30)
@given(st.integers(1, 1000), st.integers(0, 6))
def test_without_missed_nights_everybody_has_exactly_one_full_night_in_seven(count: int, first: int) -> None:
    seen = dict.fromkeys((f"user-{number}" for number in range(count)), 0)
    for ahead in range(SHARDS):
        tonight = Night((first + ahead) % SHARDS, NOW + ahead * DAY_US)
        for user in seen:
            seen[user] += heavy_is_due(user, 0, None, tonight)
    assert set(seen.values()) == {1}

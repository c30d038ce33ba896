"""Whose day it is for the heavy phases."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from aico_memory.domain.consolidation.shard import SHARDS, Phase, phases_of, shard_of, shard_of_day, users_of_shard

DAY = datetime(2026, 11, 21, 2, tzinfo=ZoneInfo("Europe/Berlin"))
KNOWN = (Phase("replay"), Phase("forget", heavy=True), Phase("summaries"))


def test_a_users_shard_is_the_same_in_every_process() -> None:
    assert [shard_of(user) for user in ("alice", "bob", "Çelik", "")] == [2, 0, 6, 0]


@given(st.sets(st.text(min_size=1, max_size=8), min_size=1, max_size=60), st.sets(st.text(min_size=1, max_size=8), max_size=60))
def test_a_user_keeps_the_shard_when_others_come_and_go(users: set[str], others: set[str]) -> None:
    for shard in range(SHARDS):
        alone = set(users_of_shard(users, shard))
        assert set(users_of_shard(users | others, shard)) & users == alone


@settings(max_examples=25)
@given(st.integers(1, 1000), st.integers(0, 6), st.data())
def test_every_user_has_the_heavy_phases_once_in_any_seven_days(count: int, first: int, data: st.DataObject) -> None:
    users = [f"user-{number}" for number in range(count)]
    seen: dict[str, int] = dict.fromkeys(users, 0)
    for ahead in range(SHARDS):
        shard = shard_of_day(DAY + timedelta(days=first + ahead))
        joined = users + [f"guest-{data.draw(st.integers(0, 5000))}" for _ in range(3)]
        for user in users_of_shard(joined, shard):
            seen[user] = seen.get(user, 0) + 1
    assert all(seen[user] == 1 for user in users)


def test_light_phases_run_every_night_and_heavy_ones_on_the_users_day() -> None:
    shard = shard_of("alice")
    assert phases_of("alice", shard, KNOWN, ()) == ["replay", "forget", "summaries"]
    assert phases_of("alice", (shard + 1) % SHARDS, KNOWN, ()) == ["replay", "summaries"]


def test_phases_asked_for_by_name_run_whatever_the_day_and_in_their_own_order() -> None:
    for shard in range(SHARDS):
        assert phases_of("alice", shard, KNOWN, ("summaries", "forget")) == ["forget", "summaries"]

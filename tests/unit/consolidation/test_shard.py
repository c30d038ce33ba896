"""Whose day it is for the heavy phases."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.consolidation.shard import SHARDS, shard_of, shard_of_day

DAY = datetime(2026, 11, 21, 2, tzinfo=ZoneInfo("Europe/Berlin"))


def test_a_users_shard_is_the_same_in_every_process() -> None:
    assert [shard_of(user) for user in ("alice", "bob", "Çelik", "")] == [2, 0, 6, 0]


@given(st.integers(0, 4000))
def test_seven_days_in_a_row_have_seven_shards(first: int) -> None:
    assert {shard_of_day(DAY + timedelta(days=first + ahead)) for ahead in range(SHARDS)} == set(range(SHARDS))

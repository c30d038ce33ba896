"""Whose turn the heavy phases are: one seventh of the users a day, stable when users come and go."""

from __future__ import annotations

from datetime import datetime

from aico_memory.ids import stable_hash64

SHARDS = 7


def shard_of(user: str) -> int:
    """The user's shard, 0 to 6, by the user's own name alone."""
    return stable_hash64(user) % SHARDS


def shard_of_day(local: datetime) -> int:
    """The shard whose day it is; `local` is the planned time on the schedule's wall clock."""
    return local.toordinal() % SHARDS

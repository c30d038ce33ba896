"""Whose turn the heavy phases are: one seventh of the users a day, stable when users come and go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from aico_memory.ids import stable_hash64

SHARDS = 7


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of sleep; a heavy one runs for a user once a cycle of seven days."""

    name: str
    heavy: bool = False


def shard_of(user: str) -> int:
    """The user's shard, 0 to 6, by the user's own name alone."""
    return stable_hash64(user) % SHARDS


def shard_of_day(local: datetime) -> int:
    """The shard whose day it is; `local` is the planned time on the schedule's wall clock."""
    return local.toordinal() % SHARDS


def users_of_shard(users: Iterable[str], shard: int) -> list[str]:
    """The users among these whose heavy phases are due, in the order given."""
    return [user for user in users if shard_of(user) == shard]


def phases_of(user: str, shard: int, known: Sequence[Phase], requested: Sequence[str]) -> list[str]:
    """The phases of one user in one run, in their fixed order.

    Phases asked for by name run whatever the day; else the light ones, and the
    heavy ones where it is the user's day.
    """
    if requested:
        return [phase.name for phase in known if phase.name in requested]
    return [phase.name for phase in known if not phase.heavy or shard_of(user) == shard]

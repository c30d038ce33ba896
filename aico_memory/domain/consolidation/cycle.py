"""Who goes through which phases tonight: everybody replays, a seventh of the users a night goes through all.

The day's seventh goes by a stable hash of the user's name. Two things come on
top, so that nobody falls out of the cycle: whoever has not been through all
phases for a whole cycle (nights that were missed, a run that ran out of time)
is due whatever the day, and whoever has lived through much is due at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aico_memory.domain.consolidation.shard import SHARDS, shard_of
from aico_memory.domain.sleep.names import REPLAY, Phase

DAY_US = 86_400_000_000
# A night begins when the machine is idle, so two nights of one weekday lie up to hours more or less than a week apart.
CYCLE_US = SHARDS * DAY_US - DAY_US // 2


@dataclass(frozen=True, slots=True)
class Cycle:
    """One user's place in the cycle; Unix microseconds, 0 where it has not happened."""

    user: str
    # First seen by a run.
    seen_us: int
    # Last replay, and last night through all phases, that ended without an error.
    replayed_us: int = 0
    full_us: int = 0


@dataclass(frozen=True, slots=True)
class Night:
    """What a run asks for."""

    shard: int
    # The moment that the run decides by, Unix microseconds.
    at_us: int
    # Phases asked for by name; empty: what is due.
    requested: tuple[str, ...] = ()
    # By hand: all phases, whatever the day.
    manual: bool = False
    # So many pending experiences make a user's night a full one.
    active_from: int = 0


def heavy_is_due(user: str, pending: int, known: Cycle | None, night: Night) -> bool:
    """Whether the user goes through all phases tonight."""
    if night.manual or shard_of(user) == night.shard or 0 < night.active_from <= pending:
        return True
    return known is not None and night.at_us - max(known.seen_us, known.full_us) >= CYCLE_US


def nights_overdue(user: str, known: Cycle | None, night: Night) -> int:
    """How many nights too late the user's full night is; 0 where it is not. Who waits longest goes first."""
    if known is None:
        return 0
    return max(0, (night.at_us - max(known.seen_us, known.full_us) - CYCLE_US) // DAY_US)


def phases_tonight(user: str, pending: int, known: Cycle | None, night: Night, every: Sequence[Phase]) -> list[str]:
    """The phases of one user in one run, in their fixed order; empty where the user can sleep on.

    Replay is left out where nothing is pending, unless it was asked for by name.
    """
    if night.requested:
        return [phase.name for phase in every if phase.name in night.requested]
    heavy = heavy_is_due(user, pending, known, night)
    return [phase.name for phase in every if (heavy or not phase.heavy) and (pending or phase.name != REPLAY)]

"""A scope as it stood: snapshots rebuilt from the records, the live answer, and what changed between two."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from aico_memory.domain.memory import Memory
from aico_memory.domain.temporal.versions import Version, at


@dataclass(frozen=True, slots=True)
class HistoricalState:
    """What we would have answered at `at_us`; `held` is at most one version a key, ordered by key."""

    at_us: int
    held: tuple[Version, ...]

    @property
    def ids(self) -> frozenset[bytes]:
        return frozenset(version.version_id for version in self.held)


class Difference(NamedTuple):
    """Between two states."""

    appeared: tuple[Version, ...]
    gone: tuple[Version, ...]


def historical_state(versions: Iterable[Version], at_us: int) -> HistoricalState:
    """The snapshot at a moment, with no knowledge from after it."""
    return HistoricalState(at_us, at(versions, at_us, at_us))


def difference(before: HistoricalState, after: HistoricalState) -> Difference:
    """What the later state holds and the earlier does not, and the other way round."""
    return Difference(
        tuple(version for version in after.held if version.version_id not in before.ids),
        tuple(version for version in before.held if version.version_id not in after.ids),
    )


def live(memories: Iterable[Memory], now_us: int) -> frozenset[bytes]:
    """The live answer, by fields alone: the active items that are true now. Equal to the snapshot for now.

    Where a key has two such items, the one that began later stands, and of two
    that began together the one recorded later, as in `at`.
    """
    standing: dict[str, tuple[tuple[int, int, bytes], bytes]] = {}
    for one in memories:
        if one.status != "active" or one.variant_of is not None or not one.valid_from_us <= now_us < one.valid_until_us:
            continue
        key = f"{one.scope.key} {one.fact_key}" if one.fact_key else one.memory_id.hex()
        rank = (one.valid_from_us, one.recorded_at_us, one.memory_id)
        if key not in standing or rank > standing[key][0]:
            standing[key] = (rank, one.memory_id)
    return frozenset(memory_id for _, memory_id in standing.values())

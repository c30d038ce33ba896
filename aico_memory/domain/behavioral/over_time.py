"""What was learned of a user as numbers over time: confidence of a skill, a dimension of the preferred style."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from aico_memory.domain.behavioral.learning import Preference
from aico_memory.domain.behavioral.records import Evolution
from aico_memory.domain.temporal.trends import Point
from aico_memory.domain.temporal.versions import Value, at, versions_of_values

LEARNED: Final = "learned"


def skill_series(changes: Iterable[Evolution], skill_id: str) -> tuple[Point, ...]:
    """Confidence of a skill after each thumb."""
    mine = _ordered(one for one in changes if one.what == LEARNED and one.subject == skill_id)
    return tuple(Point(one.at_us, one.new_value) for one in mine)


def preference_series(changes: Iterable[Evolution], bucket: int, dimension: int, present: Preference) -> tuple[Point, ...]:
    """One dimension of a bucket after each thumb: what stood before the next one, and after the last what stands now.

    What the night moved between two thumbs is counted to the earlier one, because only thumbs keep what stood before.
    """
    mine = _ordered(one for one in changes if one.what == LEARNED and one.bucket == bucket and one.before is not None)
    after = [one.before.preference for one in mine[1:] if one.before is not None]
    return tuple(
        Point(one.at_us, preference.dimensions[dimension]) for one, preference in zip(mine, [*after, present], strict=False)
    )


def value_at(series: Sequence[Point], at_us: int) -> float | None:
    """The number that held at a moment; None before the first."""
    versions = versions_of_values("series", (Value(one.at_us, repr(one.value), b"") for one in series))
    held = at(versions, at_us, at_us)
    return float(held[0].value) if held else None


def _ordered(changes: Iterable[Evolution]) -> list[Evolution]:
    return sorted(changes, key=lambda one: (one.at_us, one.cause.bytes, one.ordinal))

"""Every change leaves a record: making them, reading them as a chain with causes, and how long they are kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from aico_memory.domain.kinds import DAY_US
from aico_memory.domain.memory import Evolution, Memory
from aico_memory.domain.temporal.trends import Point
from aico_memory.domain.temporal.versions import Version, at
from aico_memory.settings.memory_model import EvolutionSettings

# The fields of an item whose change is recorded, under their own names.
RECORDED: Final = (
    "text", "kind", "status", "tier", "sub_tier", "valid_from_us", "valid_until_us", "confidence", "utility", "pinned",
    "immutable",
)  # fmt: skip


def differences(old: Memory, new: Memory, at_us: int, cause: bytes, reason: str) -> tuple[Evolution, ...]:
    """One record for each recorded field that changed."""
    return tuple(
        Evolution(old.memory_id, name, str(before), str(after), at_us, cause, reason)
        for name in RECORDED
        if (before := getattr(old, name)) != (after := getattr(new, name))
    )


def kept_since_us(now_us: int, figures: EvolutionSettings) -> int:
    """Records of changes before this moment may go."""
    return now_us - round(figures.kept_days * DAY_US)


def series_of(changes: Iterable[Evolution], what: str) -> tuple[Point, ...]:
    """The numbers that a recorded field took on, in order of time, for trends and predictions."""
    return tuple(sorted(Point(one.at_us, float(one.new_value)) for one in changes if one.what == what))


class Step(NamedTuple):
    """One step in the history of a key.

    `what` is stated (nothing held before), changed (another value held until then),
    corrected (another value was held and never true), confirmed (the same value,
    stated anew), ended, retracted (at no time true) or reopened.
    """

    what: str
    version_id: bytes
    old: str
    new: str
    # When it took effect in the world, and when we learned of it.
    from_us: int
    known_at_us: int
    cause: bytes


def evolution(versions: Sequence[Version], key: str) -> tuple[Step, ...]:
    """The chain of the versions of one key with causes, in the order in which it was learned.

    An end or retraction that was learned together with what took its place is part of that change.
    """
    chain = [version for version in versions if version.key == key]
    learned = sorted(
        ((belief.known_from_us, place, version) for version in chain for place, belief in enumerate(version.beliefs)),
        key=lambda one: (one[0], one[1] == 0, one[2].version_id),
    )
    taught = {known_us for known_us, place, version in learned if place == 0 and version.beliefs[0].holds}
    steps: list[Step] = []
    for known_us, place, version in learned:
        if place == 0:
            steps += _stated(chain, version)
        elif known_us not in taught:
            steps.append(_revised(version, place))
    return tuple(steps)


def _stated(chain: Iterable[Version], version: Version) -> list[Step]:
    belief = version.beliefs[0]
    if not belief.holds:
        return []
    others = [other for other in chain if other is not version]
    before = at(others, belief.valid_from_us, belief.known_from_us - 1) or at(
        others, belief.valid_from_us - 1, belief.known_from_us - 1
    )
    old = before[0].value if before else ""
    if not before:
        what = "stated"
    elif old == version.value:
        what = "confirmed"
    else:
        what = "changed" if before[0].believed(belief.known_from_us) else "corrected"
    return [Step(what, version.version_id, old, version.value, belief.valid_from_us, belief.known_from_us, belief.cause)]


def _revised(version: Version, place: int) -> Step:
    before, belief = version.beliefs[place - 1], version.beliefs[place]
    if not belief.holds:
        since_us = before.valid_from_us
        return Step("retracted", version.version_id, version.value, "", since_us, belief.known_from_us, belief.cause)
    if before.holds and belief.valid_until_us < before.valid_until_us:
        return Step("ended", version.version_id, version.value, "", belief.valid_until_us, belief.known_from_us, belief.cause)
    since_us = before.valid_until_us if before.holds else belief.valid_from_us
    return Step("reopened", version.version_id, "", version.value, since_us, belief.known_from_us, belief.cause)

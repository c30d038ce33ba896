"""Every change leaves a record: making them, reading them as a chain with causes, and how long they are kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from aico_memory.domain.kinds import DAY_US
from aico_memory.domain.memory import Evidence, Evolution, Memory
from aico_memory.domain.temporal.trends import Point
from aico_memory.domain.temporal.versions import Version, at
from aico_memory.settings.memory_model import EvolutionSettings

# The fields of an item whose change is recorded, under their own names.
RECORDED: Final = (
    "text", "kind", "status", "tier", "sub_tier", "valid_from_us", "valid_until_us", "confidence", "utility", "pinned",
    "immutable",
)  # fmt: skip

# Why a text changed by a person's hand.
EDITED: Final = "edited"
_REPLAY: Final = "replay"


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
    stated anew), ended, retracted (at no time true), deleted (a person took it away) or reopened.
    """

    what: str
    version_id: bytes
    old: str
    new: str
    # When it took effect in the world, and when we learned of it.
    from_us: int
    known_at_us: int
    cause: bytes


class Said(NamedTuple):
    """An event that said what a version says, and when."""

    at_us: int
    cause: bytes


def taught_by(memory: Memory, changes: Iterable[Evolution], proofs: Sequence[Evidence]) -> bytes:
    """The event that a version of an item was said in; `changes` and `proofs` are those of the item that it is a version of.

    Empty where that is not known any more.
    """
    for one in changes:
        if one.what == "text" and one.reason == EDITED and one.at_us == memory.recorded_at_us:
            return one.cause
    said = said_in(proofs)
    return next((one.cause for one in (*(one for one in said if one.at_us == memory.recorded_at_us), *said)), b"")


def said_in(proofs: Iterable[Evidence]) -> tuple[Said, ...]:
    """The events of these proofs, each once, oldest first as they are given; a replay says nothing."""
    found: dict[bytes, Said] = {}
    for one in proofs:
        if one.method != _REPLAY:
            found.setdefault(one.event_id, Said(one.said_at_us or one.at_us, one.event_id))
    return tuple(found.values())


def evolution(versions: Sequence[Version], key: str, said: Mapping[bytes, Iterable[Said]] | None = None) -> tuple[Step, ...]:
    """The chain of the versions of one key with causes, in the order in which it was learned.

    An end or retraction that was learned together with what took its place is part of that change. What waited for
    review is stated when it was first believed. `said` tells by version id in which events it was said: each that
    taught nothing else confirms it.
    """
    chain = [version for version in versions if version.key == key]
    begun = {one.version_id: next((place for place, held in enumerate(one.beliefs) if held.holds), None) for one in chain}
    learned = sorted(
        ((belief.known_from_us, place, version) for version in chain for place, belief in enumerate(version.beliefs)),
        key=lambda one: (one[0], one[1] == begun[one[2].version_id], one[2].version_id),
    )
    taught = {known_us for known_us, place, version in learned if place == begun[version.version_id]}
    steps: list[Step] = []
    for known_us, place, version in learned:
        first = begun[version.version_id]
        if first is None or place < first:
            continue
        if place == first:
            steps.append(_stated(chain, version, place))
        elif known_us not in taught:
            steps.append(_revised(version, place))
    confirmed = [step for version in chain for step in confirmations(version, (said or {}).get(version.version_id, ()))]
    return tuple(sorted((*steps, *confirmed), key=lambda step: step.known_at_us))


def confirmations(version: Version, said: Iterable[Said]) -> Iterable[Step]:
    """The steps in which it was said again while it was believed, and nothing else followed from that."""
    causes = {belief.cause for belief in version.beliefs}
    for at_us, cause in said:
        held = version.believed(at_us)
        if held is not None and cause not in causes:
            yield Step("confirmed", version.version_id, version.value, version.value, held.valid_from_us, at_us, cause)


def _stated(chain: Iterable[Version], version: Version, place: int) -> Step:
    belief = version.beliefs[place]
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
    # Whose words they are, not who promoted them.
    cause = version.beliefs[0].cause or belief.cause
    return Step(what, version.version_id, old, version.value, belief.valid_from_us, belief.known_from_us, cause)


def _revised(version: Version, place: int) -> Step:
    before, belief = version.beliefs[place - 1], version.beliefs[place]
    if not belief.holds:
        what = "deleted" if belief.known_from_us == version.deleted_us else "retracted"
        since_us = before.valid_from_us
        return Step(what, version.version_id, version.value, "", since_us, belief.known_from_us, belief.cause)
    if before.holds and belief.valid_until_us < before.valid_until_us:
        return Step("ended", version.version_id, version.value, "", belief.valid_until_us, belief.known_from_us, belief.cause)
    since_us = before.valid_until_us if before.holds else belief.valid_from_us
    return Step("reopened", version.version_id, "", version.value, since_us, belief.known_from_us, belief.cause)

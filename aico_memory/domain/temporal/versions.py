"""What was true when, as believed when: one rule for items, edges and preferences.

Bi-temporal after Snodgrass, "Developing Time-Oriented Database Applications in
SQL" (2000): validity [from, until) is time in the world, `known_from` is time at
which we learned it. A version keeps every belief about its own validity, so a
late or corrected end changes what is true then and not what was known then.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from aico_memory.domain.memory import OPEN, Evolution, Memory

# What changes of an item's validity and of its trust are called in the evolution records.
VALID_FROM = "valid_from_us"
VALID_UNTIL = "valid_until_us"
STATUS = "status"
# Of these fields the beliefs follow; of what else changes (confidence, utility) there is much more.
BELIEVED = (VALID_FROM, VALID_UNTIL, STATUS)
_DELETED = "invalid"
_HELD = frozenset({"active", "superseded", "expired"})


class Belief(NamedTuple):
    """From `known_from_us` on we believed it true in [valid_from, valid_until); empty: at no time."""

    known_from_us: int
    valid_from_us: int
    valid_until_us: int
    # The event that taught it; empty where that is not known any more.
    cause: bytes = b""

    @property
    def holds(self) -> bool:
        return self.valid_from_us < self.valid_until_us


@dataclass(frozen=True, slots=True)
class Version:
    """One statement and what was believed of its validity, in the order in which it was learned.

    Versions of one key exclude each other; the key names its scope.
    """

    version_id: bytes
    key: str
    value: str
    beliefs: tuple[Belief, ...]
    # When a person deleted it, which says nothing of whether it was true; OPEN: nobody did.
    deleted_us: int = OPEN

    def believed(self, known_as_of_us: int) -> Belief | None:
        """What was believed of it then; None where it was unknown or held for never true."""
        belief = self.belief(known_as_of_us)
        return belief if belief is not None and belief.holds else None

    def belief(self, known_as_of_us: int) -> Belief | None:
        """What was known of it then, that it was never true as well; None where it was unknown."""
        place = bisect_right(self.beliefs, known_as_of_us, key=lambda belief: belief.known_from_us)
        return self.beliefs[place - 1] if place else None


class Span(NamedTuple):
    """That version held in [from, until)."""

    version: Version
    from_us: int
    until_us: int


def at(versions: Iterable[Version], t_us: int, known_as_of_us: int) -> tuple[Version, ...]:
    """What was true at `t`, as believed at `known_as_of`: at most one version a key, ordered by key.

    Of two that both claim the moment, the one that began later holds; of two
    that began together, the one we learned of later.
    """
    held: dict[str, tuple[tuple[int, int, bytes], Version]] = {}
    for version in versions:
        belief = version.believed(known_as_of_us)
        if belief is None or not belief.valid_from_us <= t_us < belief.valid_until_us:
            continue
        rank = _rank(version, belief)
        if version.key not in held or rank > held[version.key][0]:
            held[version.key] = (rank, version)
    return tuple(held[key][1] for key in sorted(held))


def during(versions: Iterable[Version], from_us: int, until_us: int, known_as_of_us: int) -> tuple[Span, ...]:
    """What was true in [from, until), piece by piece: at every moment exactly what `at` says of it."""
    by_key: defaultdict[str, list[tuple[Belief, Version]]] = defaultdict(list)
    for version in versions:
        belief = version.believed(known_as_of_us)
        if belief is not None and belief.valid_from_us < until_us and belief.valid_until_us > from_us:
            by_key[version.key].append((belief, version))
    found: list[Span] = []
    for key in sorted(by_key):
        claims = by_key[key]
        ends = {edge for belief, _ in claims for edge in (belief.valid_from_us, belief.valid_until_us)}
        edges = sorted({from_us, until_us, *(edge for edge in ends if from_us < edge < until_us)})
        for start, end in pairwise(edges):
            holding = [(_rank(version, belief), version) for belief, version in claims
                       if belief.valid_from_us <= start < belief.valid_until_us]  # fmt: skip
            if not holding:
                continue
            version = max(holding, key=lambda one: one[0])[1]
            last = found[-1] if found else None
            if last is not None and last.version is version:
                found[-1] = last._replace(until_us=end)
            else:
                found.append(Span(version, start, end))
    return tuple(found)


def timeline(versions: Iterable[Version], known_as_of_us: int) -> tuple[Span, ...]:
    """The whole history of what was true, as believed at `known_as_of`; `until` is OPEN where it still holds."""
    return during(versions, -OPEN, OPEN, known_as_of_us)


def current(versions: Iterable[Version], now_us: int) -> tuple[Version, ...]:
    """What is true now, as far as we know."""
    return at(versions, now_us, now_us)


def version_of_memory(memory: Memory, changes: Sequence[Evolution] = (), cause: bytes = b"") -> Version:
    """An item as a version, its beliefs rebuilt from its evolution records, and from its fields where those are gone.

    Without records, what was closed by a change is taken to have been stated open
    (persistent) or until the end that stands in it (time-bounded). A variant is a
    weaker claim beside the one that is held, so it is not believed itself.
    """
    of_it = (one for one in changes if one.what in BELIEVED and one.at_us >= memory.recorded_at_us)
    log = sorted(of_it, key=lambda one: (one.at_us, one.what))
    starts = [one for one in log if one.what == VALID_FROM]
    ends = [one for one in log if one.what == VALID_UNTIL]
    states = [one for one in log if one.what == STATUS]
    closed = memory.invalidated_at_us < OPEN
    final = _interval(memory.valid_from_us, memory.valid_until_us, _is_held(memory, memory.status))

    from_us = int(starts[0].old_value) if starts else memory.valid_from_us
    until_us = memory.valid_until_us
    if ends:
        until_us = int(ends[0].old_value)
    elif closed and memory.status in _HELD and memory.temporal_type == "persistent":
        until_us = OPEN
    status = states[0].old_value if states else "active" if closed else memory.status
    held = memory.variant_of is None and status in _HELD

    beliefs = [Belief(memory.recorded_at_us, *_interval(from_us, until_us, held), cause)]
    for one in log:
        if one.what == VALID_UNTIL:
            until_us = int(one.new_value)
        elif one.what == VALID_FROM:
            from_us = int(one.new_value)
        else:
            held = _is_held(memory, one.new_value)
        _learn(beliefs, Belief(one.at_us, *_interval(from_us, until_us, held), one.cause))
    learned_us = memory.invalidated_at_us if closed else memory.updated_at_us
    _learn(beliefs, Belief(max(learned_us, beliefs[-1].known_from_us), *final))
    key = f"{memory.scope.key} {memory.fact_key}" if memory.fact_key and memory.variant_of is None else memory.memory_id.hex()
    return Version(memory.memory_id, key, memory.text, tuple(beliefs), _deleted_us(memory, states, learned_us))


class Value(NamedTuple):
    """A value that something took on at a moment, and the event that caused it."""

    at_us: int
    value: str
    cause: bytes


def versions_of_values(key: str, values: Iterable[Value]) -> tuple[Version, ...]:
    """The values of a preference dimension or a confidence as versions: each holds until the next.

    Of several at one moment the last stands.
    """
    ordered = list({value.at_us: value for value in sorted(values, key=lambda one: one.at_us)}.values())
    found = []
    for place, (at_us, text, cause) in enumerate(ordered):
        beliefs = [Belief(at_us, at_us, OPEN, cause)]
        if place + 1 < len(ordered):
            after = ordered[place + 1]
            beliefs.append(Belief(after.at_us, at_us, after.at_us, after.cause))
        found.append(Version(f"{key} {place}".encode(), key, text, tuple(beliefs)))
    return tuple(found)


def _deleted_us(memory: Memory, states: Sequence[Evolution], learned_us: int) -> int:
    gone = next((one.at_us for one in states if one.new_value == _DELETED), None)
    if gone is not None:
        return gone
    return learned_us if memory.status == _DELETED and not states else OPEN


def _learn(beliefs: list[Belief], belief: Belief) -> None:
    """Add what differs; what was learned at one moment is one belief."""
    if beliefs[-1][1:3] == belief[1:3]:
        return
    if beliefs[-1].known_from_us == belief.known_from_us:
        beliefs.pop()
    beliefs.append(belief)


def _is_held(memory: Memory, status: str) -> bool:
    # A former text (`version_of`) was replaced, not ended: it is held by nobody once it is superseded.
    replaced = memory.version_of is not None and status == "superseded"
    return memory.variant_of is None and status in _HELD and not replaced


def _interval(from_us: int, until_us: int, held: bool) -> tuple[int, int]:
    return (from_us, until_us) if held else (OPEN, OPEN)


def _rank(version: Version, belief: Belief) -> tuple[int, int, bytes]:
    return belief.valid_from_us, version.beliefs[0].known_from_us, version.version_id

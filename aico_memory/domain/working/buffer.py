"""The Miller buffer: the few items that a session holds in mind (Miller 1956, seven plus or minus two)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class BufferRules:
    """Figures of the buffer."""

    capacity: int = 9
    # Time in which attention falls to 1/e.
    fading_us: int = 30 * 60 * 1_000_000
    access_weight: float = 0.1
    promotion_accesses: int = 2
    promotion_importance: float = 0.6


@dataclass(frozen=True, slots=True)
class BufferEntry:
    """One item in mind; `id` is the memory or event it stands for, importance 0..1."""

    id: str
    content: str
    importance: float
    access_count: int
    last_access_us: int


def attention(entry: BufferEntry, now_us: int, rules: BufferRules) -> float:
    """importance · exp(-age since last access / 30 min) · (1 + 0.1 · accesses); a clock that went back is age 0."""
    age = max(0, now_us - entry.last_access_us)
    return entry.importance * math.exp(-age / rules.fading_us) * (1 + rules.access_weight * entry.access_count)


def is_promotion_candidate(entry: BufferEntry, rules: BufferRules) -> bool:
    """Accessed again, or important by itself."""
    return entry.access_count >= rules.promotion_accesses or entry.importance >= rules.promotion_importance


def touch(
    entries: Sequence[BufferEntry], touched: Iterable[tuple[str, str, float]], now_us: int, rules: BufferRules
) -> tuple[BufferEntry, ...]:
    """The buffer after these (id, content, importance) came to mind, oldest member first.

    An id that is there is updated in place and counts one access more; the items
    with the least attention leave until the capacity holds.
    """
    held = {entry.id: entry for entry in entries}
    for identifier, content, importance in touched:
        known = held.get(identifier)
        if known is None:
            held[identifier] = BufferEntry(identifier, content, importance, 1, now_us)
        else:
            held[identifier] = replace(
                known,
                content=content,
                importance=importance,
                access_count=known.access_count + 1,
                last_access_us=max(known.last_access_us, now_us),
            )
    while len(held) > rules.capacity:
        del held[_least_attended(held.values(), now_us, rules).id]
    return tuple(held.values())


def _least_attended(entries: Iterable[BufferEntry], now_us: int, rules: BufferRules) -> BufferEntry:
    # Equal attention: the one seen longest ago goes, then by id, so that a replay chooses alike.
    return min(entries, key=lambda entry: (attention(entry, now_us, rules), entry.last_access_us, entry.id))

"""Synaptic tags and capture, co-activation, spreading activation.

After synaptic tagging and capture (Frey & Morris 1997): what was weak lasts if
something strong follows soon. Co-activation is Hebb's rule (1949) on pairs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from aico_memory.domain.graph.relations import Relation
from aico_memory.domain.memory import Memory, Scope, restated
from aico_memory.domain.strength.retention import retrieval_strength, stored, strengthened
from aico_memory.settings.memory_model import RetentionSettings
from aico_memory.settings.write_path import TagSettings

_HOUR_US = 3_600_000_000


class Tag(NamedTuple):
    """An item waits in its session for something important; `captured_us` is 0 until that came."""

    memory_id: bytes
    scope: Scope
    session_id: str
    set_at_us: int
    expires_at_us: int
    captured_us: int = 0


class Pair(NamedTuple):
    """Two items, the lower id first."""

    first: bytes
    second: bytes


def tag_for(memory: Memory, at_us: int, figures: TagSettings) -> Tag | None:
    """A tag for an item of low importance; none outside a session."""
    if memory.importance >= figures.tag_below or not memory.session_id or memory.kind == "record":
        return None
    return Tag(memory.memory_id, memory.scope, memory.session_id, at_us, at_us + round(figures.tag_hours * _HOUR_US))


def capture(
    strong: Memory,
    at_us: int,
    tags: Iterable[Tag],
    items: Mapping[bytes, Memory],
    figures: TagSettings,
    retention: RetentionSettings,
) -> tuple[tuple[Tag, Memory], ...]:
    """Tagged items that an important one captures: of its scope and session, within the time of the tag, each once."""
    if strong.importance < figures.capture_from or not strong.session_id:
        return ()
    found = []
    for tag in tags:
        item = items.get(tag.memory_id)
        near = tag.scope == strong.scope and tag.session_id == strong.session_id and tag.set_at_us <= at_us < tag.expires_at_us
        if item is None or not near or tag.captured_us or tag.memory_id == strong.memory_id or item.status != "active":
            continue
        found.append((tag._replace(captured_us=at_us), strengthened(item, figures.capture_factor, retention)))
    return tuple(found)


def pairs_of(retrieved: Sequence[bytes], figures: TagSettings) -> tuple[Pair, ...]:
    """The pairs among the best of these items of one answer; each counts once more."""
    best = dict.fromkeys(retrieved[: figures.pair_items])
    return tuple(Pair(*sorted(two)) for two in combinations(best, 2))


def retrieved_together(
    memories: Sequence[Memory], at_us: int, figures: TagSettings, retention: RetentionSettings
) -> tuple[Memory, ...]:
    """Active items after one answer: access + 1, more storage strength and, where it held more than one, stability · 1.02."""
    active = [one for one in memories if one.status == "active" and one.kind != "record"]
    factor = figures.together_factor if len(active) > 1 else 1.0
    return tuple(
        strengthened(
            restated(
                one,
                access_count=one.access_count + 1,
                last_accessed_us=max(one.last_accessed_us, at_us),
                storage_strength=stored(one.storage_strength, retrieval_strength(one, at_us), retention),
            ),
            factor,
            retention,
        )
        for one in active
    )


def neighbours_of(used_items: Collection[bytes], relations: Iterable[Relation]) -> frozenset[bytes]:
    """Items one relation away from what was used, without what was used."""
    ends = {
        other
        for one in relations
        for here, other in ((one.subject, one.object), (one.object, one.subject))
        if here in used_items
    }
    return frozenset(ends - set(used_items))


def spread(
    used_scopes: Collection[Scope], neighbours: Iterable[Memory], figures: TagSettings, retention: RetentionSettings
) -> tuple[Memory, ...]:
    """Active neighbours of the same scopes last a little longer; activation never crosses a scope, and is no access."""
    return tuple(
        strengthened(one, figures.spread_factor, retention)
        for one in neighbours
        if one.status == "active" and one.scope in used_scopes
    )

"""What falls away by age and doubt, and which names of the graph mean one entity. Specification 5, phase 14."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.graph.entities import Entity, Identities, fits
from aico_memory.domain.kinds import DAY_US
from aico_memory.domain.memory import Memory
from aico_memory.settings.knowledge import KnowledgeSettings


def given_up(memory: Memory, at_us: int, figures: KnowledgeSettings) -> bool:
    """Whether a variant is too weak and too old to be doubted any longer; anchors stay."""
    return (
        memory.variant_of is not None
        and memory.status == "active"
        and not memory.pinned
        and not memory.immutable
        and memory.confidence < figures.variant_confidence
        and at_us - memory.created_at_us > figures.variant_days * DAY_US
    )


def invalidated(memory: Memory, at_us: int) -> Memory:
    """Held for invalid from now on; what was believed before stays known."""
    return replace(memory, status="invalid", invalidated_at_us=min(memory.invalidated_at_us, at_us), updated_at_us=at_us)


def one_entity(entities: Sequence[Entity], identities: Identities) -> tuple[tuple[Entity, Entity], ...]:
    """Pairs (kept, absorbed) of entities that bear one name as the keys compare names, and whose types can be one.

    The older is kept. Where a name is borne by entities of two known types it says nothing, and none of them is merged.
    """
    by_name: dict[str, list[Entity]] = {}
    for entity in sorted(entities, key=lambda one: (one.created_at_us, one.entity_id)):
        for name in dict.fromkeys(normalise_fact_key(name) for name in entity.names):
            if name:
                by_name.setdefault(name, []).append(entity)
    found: dict[bytes, tuple[Entity, Entity]] = {}
    for name in sorted(by_name):
        bearers = by_name[name]
        if len({one.type for one in bearers if one.type}) > 1:
            continue
        kept = bearers[0]
        for other in bearers[1:]:
            one = identities.canonical(kept.entity_id) == identities.canonical(other.entity_id)
            if not one and fits(kept.type, other.type) and other.entity_id not in found:
                found[other.entity_id] = (kept, other)
    return tuple(found.values())

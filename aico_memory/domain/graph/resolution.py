"""Whom a name means: alias, then normalised name, then similarity of names (specification 2, "Temporal property graph")."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.graph.entities import Entity, fits
from aico_memory.domain.memory import Scope
from aico_memory.settings.memory_model import GraphSettings


class Resolution(NamedTuple):
    """The entity a name means, and how it was found: alias, name, similar, or new (None)."""

    entity_id: bytes | None
    how: str
    similarity: float


class Similar(NamedTuple):
    """An entity whose name is near, by the embeddings of both names."""

    entity_id: bytes
    similarity: float


def resolve(
    name: str, type_: str, scope: Scope, entities: Sequence[Entity], similar: Iterable[Similar], figures: GraphSettings
) -> Resolution:
    """The entity of this scope that `name` means; of several the one of equal type, then the oldest.

    An exact name as it was said, then the normalised one, both where the types can
    be one; then the most similar name from the threshold on, with equal known type.
    `entities` are the candidates: those that bear the name, and those of `similar`.
    """
    own = [one for one in entities if one.scope == scope and fits(one.type, type_)]
    own.sort(key=lambda one: (one.type != type_, one.created_at_us, one.entity_id))
    for one in own:
        if name in one.names:
            return Resolution(one.entity_id, "alias", 1.0)
    key = normalise_fact_key(name)
    for one in own:
        if key and any(normalise_fact_key(known) == key for known in one.names):
            return Resolution(one.entity_id, "name", 1.0)
    equal = {one.entity_id for one in own if type_ and one.type == type_}
    near = [one for one in similar if one.entity_id in equal and one.similarity >= figures.name_similarity]
    if near:
        best = min(near, key=lambda one: (-one.similarity, one.entity_id))
        return Resolution(best.entity_id, "similar", best.similarity)
    return Resolution(None, "new", 0.0)

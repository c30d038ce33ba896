"""Entities, and the merges that make two of them one: a merge moves nothing, so it can be undone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.formation.formed import SPEAKER
from aico_memory.domain.memory import OPEN, Scope
from aico_memory.errors import InvalidMessage


@dataclass(frozen=True, slots=True)
class Entity:
    """Who or what items speak of. `aliases` are names as they were said; an empty `type` is unknown."""

    entity_id: bytes
    scope: Scope
    name: str
    type: str
    created_at_us: int
    aliases: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)


@dataclass(frozen=True, slots=True)
class Merge:
    """`absorbed` was found to be `kept`, at `at_us` and until it was undone.

    Both are those that were named, be they one with others already: so each merge
    is undone by itself. Names and edges stay with the entity of which they were
    said; readers follow the merge. To undo it is to stop following.
    """

    merge_id: bytes
    kept: bytes
    absorbed: bytes
    at_us: int
    # alias | name | similar | manual
    how: str
    similarity: float = 1.0
    undone_at_us: int = OPEN


class Identities:
    """Which entities are one, as known at a moment."""

    def __init__(self, merges: Iterable[Merge], known_as_of_us: int) -> None:
        self._kept: dict[bytes, bytes] = {}
        known = (
            one for one in merges
            if one.at_us <= known_as_of_us and (one.undone_at_us >= OPEN or known_as_of_us < one.undone_at_us)
        )  # fmt: skip
        for one in sorted(known, key=lambda one: (one.at_us, one.merge_id)):
            kept, absorbed = self.canonical(one.kept), self.canonical(one.absorbed)
            if kept != absorbed:
                self._kept[absorbed] = kept

    def canonical(self, entity_id: bytes) -> bytes:
        """The entity that stands for this one; itself where nothing was merged."""
        while entity_id in self._kept:
            entity_id = self._kept[entity_id]
        return entity_id

    def same(self, entity_id: bytes) -> frozenset[bytes]:
        """Every entity that is one with this one."""
        root = self.canonical(entity_id)
        return frozenset({root, *(one for one in self._kept if self.canonical(one) == root)})


def merge(
    kept: Entity, absorbed: Entity, merges: Iterable[Merge], merge_id: bytes, at_us: int, how: str, similarity: float,
    entities: Mapping[bytes, Entity] | None = None,
) -> Merge | None:  # fmt: skip
    """The merge of two entities of a scope; None where they are one already.

    Of `entities` those that are one with either count with their types, too. Raises InvalidMessage across scopes and
    between different known types.
    """
    if kept.scope != absorbed.scope:
        raise InvalidMessage(f"{kept.scope.key} and {absorbed.scope.key} share no entity", "Merge entities of one scope.")
    identities = Identities(merges, at_us)
    if identities.canonical(kept.entity_id) == identities.canonical(absorbed.entity_id):
        return None
    groups = (_together(one, identities, entities or {}) for one in (kept, absorbed))
    for ours, theirs in product(*groups):
        if not fits(ours.type, theirs.type):
            raise InvalidMessage(f"{ours.name!r} is a {ours.type}, {theirs.name!r} is a {theirs.type}")
    return Merge(merge_id, kept.entity_id, absorbed.entity_id, at_us, how, similarity)


def undone(done: Merge, at_us: int) -> Merge:
    """The same merge, no longer followed from `at_us` on; a second time changes nothing."""
    return done if done.undone_at_us < OPEN else replace(done, undone_at_us=at_us)


def named(entity: Entity, alias: str) -> Entity:
    """With one more name; a name that differs in case, accents of form or punctuation only is not a new one."""
    known = {normalise_fact_key(name) for name in entity.names}
    return entity if normalise_fact_key(alias) in known else replace(entity, aliases=(*entity.aliases, alias))


def is_speaker(name: str) -> bool:
    """Whether a subject is a person whose own word the items of the scope are."""
    return name == SPEAKER or name.startswith(f"{SPEAKER}:")


def fits(one: str, other: str) -> bool:
    """Whether two types can be of one entity: equal, or one of them unknown."""
    return not one or not other or one == other


def _together(entity: Entity, identities: Identities, entities: Mapping[bytes, Entity]) -> Iterator[Entity]:
    """The entity, and those of `entities` that are one with it."""
    others = sorted(identities.same(entity.entity_id) - {entity.entity_id})
    yield entity
    yield from (entities[one] for one in others if one in entities)

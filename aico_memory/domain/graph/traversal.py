"""Walks over relations: breadth first with hops and types, and the hub of an entity."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from aico_memory.domain.graph.relations import Relation
from aico_memory.domain.memory import Memory


class Reached(NamedTuple):
    """An item, how many hops away, and by which relation it was reached first."""

    memory_id: bytes
    hops: int
    by: Relation


def walk(
    starts: Iterable[bytes],
    relations_of: Callable[[bytes], Iterable[Relation]],
    max_hops: int,
    types: Collection[str] = (),
    limit: int = 1000,
) -> tuple[Reached, ...]:
    """Breadth first from `starts` (left out), in either direction of a relation, nearest and most confident first.

    `relations_of` names the relations of an item that the asker may see; `types`
    empty: all. At most `limit` items are reached.
    """
    frontier = sorted(set(starts))
    seen, found = set(frontier), list[Reached]()
    for hops in range(1, max_hops + 1):
        ways = (relation for here in frontier for relation in relations_of(here) if not types or relation.type in types)
        frontier = []
        for relation in sorted(set(ways), key=lambda one: (-one.confidence, one.key)):
            for there in (relation.subject, relation.object):
                if there in seen:
                    continue
                seen.add(there)
                found.append(Reached(there, hops, relation))
                if len(found) == limit:
                    return tuple(found)
                frontier.append(there)
        if not frontier:
            break
    return tuple(found)


def hub(entities: Collection[str], memories: Iterable[Memory], about: Collection[bytes] = ()) -> tuple[Memory, ...]:
    """All items that mention one of the entities (one and its aliases), and those of the ids `about`; the last said first."""
    wanted, told = set(entities), set(about)
    found = [one for one in memories if one.memory_id in told or not wanted.isdisjoint(one.entities)]
    return tuple(sorted(found, key=lambda one: (-one.said_at_us, one.memory_id)))

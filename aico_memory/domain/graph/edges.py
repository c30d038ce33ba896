"""The temporal property graph: edges with validity, its state at a time, neighbours, paths and changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from aico_memory.domain.graph.entities import Identities
from aico_memory.domain.memory import OPEN, Scope
from aico_memory.domain.temporal.versions import Belief, Version, at


@dataclass(frozen=True, slots=True)
class Edge:
    """`subject predicate object`, or a literal where `object` is None; taken from the item `source`.

    A single-valued predicate holds one value at a time, any other as many as were stated.
    """

    edge_id: bytes
    scope: Scope
    subject: bytes
    predicate: str
    object: bytes | None
    literal: str
    single_valued: bool
    confidence: float
    source: bytes
    # Never empty; the first is what was stated.
    beliefs: tuple[Belief, ...]

    @property
    def recorded_at_us(self) -> int:
        return self.beliefs[0].known_from_us

    @property
    def valid_from_us(self) -> int:
        return self.beliefs[-1].valid_from_us

    @property
    def valid_until_us(self) -> int:
        return self.beliefs[-1].valid_until_us


def ended(edge: Edge, until_us: int, known_at_us: int, cause: bytes) -> Edge:
    """True until then, as was learned at `known_at_us`."""
    last = edge.beliefs[-1]
    until_us = min(last.valid_until_us, max(until_us, last.valid_from_us))
    return replace(edge, beliefs=(*edge.beliefs, Belief(known_at_us, last.valid_from_us, until_us, cause)))


def never_true(edge: Edge, known_at_us: int, cause: bytes) -> Edge:
    """Retracted: from `known_at_us` on it is believed of no time."""
    return replace(edge, beliefs=(*edge.beliefs, Belief(known_at_us, OPEN, OPEN, cause)))


def version_of_edge(edge: Edge, identities: Identities) -> Version:
    """An edge as a version; edges of entities that are one meet under one key."""
    subject = identities.canonical(edge.subject).hex()
    value = edge.literal if edge.object is None else identities.canonical(edge.object).hex()
    key = f"{edge.scope.key} {subject} {edge.predicate}"
    return Version(edge.edge_id, key if edge.single_valued else f"{key} {value}", value, edge.beliefs)


@dataclass(frozen=True, slots=True)
class GraphState:
    """The graph as it stood: the edges that held, and under each entity those that touch it."""

    edges: tuple[Edge, ...]
    touching: Mapping[bytes, tuple[Edge, ...]]
    identities: Identities


def state_at(edges: Iterable[Edge], identities: Identities, t_us: int, known_as_of_us: int) -> GraphState:
    """What held at `t`, as believed at `known_as_of`."""
    by_id = {edge.edge_id: edge for edge in edges}
    versions = [version_of_edge(edge, identities) for edge in by_id.values()]
    held = tuple(by_id[version.version_id] for version in at(versions, t_us, known_as_of_us))
    touching: defaultdict[bytes, list[Edge]] = defaultdict(list)
    for edge in held:
        for entity_id in {identities.canonical(one) for one in (edge.subject, edge.object) if one is not None}:
            touching[entity_id].append(edge)
    return GraphState(held, {entity_id: tuple(found) for entity_id, found in touching.items()}, identities)


def neighbours(state: GraphState, entity_id: bytes) -> tuple[tuple[Edge, bytes | None], ...]:
    """The edges of an entity with what stands at their other end; None: a literal."""
    return tuple(_ways(state, state.identities.canonical(entity_id)))


def paths(state: GraphState, start: bytes, goal: bytes, max_hops: int, limit: int = 100) -> tuple[tuple[Edge, ...], ...]:
    """Ways from one entity to another that pass no entity twice, the shortest first."""
    here, there = state.identities.canonical(start), state.identities.canonical(goal)
    away = _hops_from(state, there, max_hops)
    lengths = range(1, max_hops + 1) if here in away and here != there else range(0)
    every = (way for length in lengths for way in _ways_of_length(state, (here,), (), there, length, away))
    return tuple(islice(every, limit))


def changes(before: GraphState, after: GraphState) -> tuple[tuple[Edge, ...], tuple[Edge, ...]]:
    """Edges that came, and edges that went, from the one state to the other."""
    old, new = ({edge.edge_id for edge in state.edges} for state in (before, after))
    came = tuple(edge for edge in after.edges if edge.edge_id not in old)
    return came, tuple(edge for edge in before.edges if edge.edge_id not in new)


def _ways(state: GraphState, entity_id: bytes) -> Iterator[tuple[Edge, bytes | None]]:
    for edge in state.touching.get(entity_id, ()):
        subject = state.identities.canonical(edge.subject)
        if subject != entity_id:
            yield edge, subject
        else:
            yield edge, None if edge.object is None else state.identities.canonical(edge.object)


def _hops_from(state: GraphState, goal: bytes, max_hops: int) -> dict[bytes, int]:
    """How far each entity is from the goal, so that no way is followed that cannot reach it."""
    away, frontier = {goal: 0}, [goal]
    for hops in range(1, max_hops + 1):
        reached = {other for here in frontier for _, other in _ways(state, here) if other is not None} - away.keys()
        away.update(dict.fromkeys(reached, hops))
        frontier = sorted(reached)
    return away


def _ways_of_length(
    state: GraphState, passed: tuple[bytes, ...], way: tuple[Edge, ...], goal: bytes, left: int, away: Mapping[bytes, int]
) -> Iterator[tuple[Edge, ...]]:
    if passed[-1] == goal:
        if not left:
            yield way
        return
    for edge, other in _ways(state, passed[-1]):
        if other is not None and other not in passed and away.get(other, left) < left:
            yield from _ways_of_length(state, (*passed, other), (*way, edge), goal, left - 1, away)

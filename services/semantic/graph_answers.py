"""Answers from the graph: who and what there is, what stands around it, ways, changes; and merges that can be undone."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aico_memory.clock import Clock
from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import semantic_pb2, temporal_pb2
from aico_memory.domain.formation.entities import slug
from aico_memory.domain.gate.policy import WritePolicy, require_writable
from aico_memory.domain.gate.statement import Known
from aico_memory.domain.graph.edges import Edge, GraphState, changes, neighbours, paths, state_at
from aico_memory.domain.graph.entities import Entity, Identities, Merge, is_speaker, merge, undone
from aico_memory.domain.graph.relations import Relation, require_relation
from aico_memory.domain.graph.traversal import hub, walk
from aico_memory.domain.memory import OPEN, Memory, Scope
from aico_memory.domain.scopes import GLOBAL, is_of_all, is_of_several, shown_subject
from aico_memory.errors import InvalidMessage, NotFound, TooLarge
from aico_memory.ids import derive_id
from aico_memory.settings.identity import IdentitySettings
from aico_memory.stores.semantic.item_port import ItemReads
from aico_memory.stores.semantic.port import SemanticStore, SemanticTransaction
from services.semantic.convert import beginning_us, id_bytes, id_text, present_us, scope_message
from services.semantic.explaining import item_message
from services.semantic.reach import asker_of

_LIMIT, _MOST = 100, 1000
_PATH_HOPS, _RELATION_HOPS, _MOST_HOPS = 3, 2, 6
_PAGE = 500


@dataclass(frozen=True, slots=True)
class _Graph:
    """The graph of one scope as it stood."""

    scope: Scope
    entities: dict[bytes, Entity]
    merges: tuple[Merge, ...]
    identities: Identities
    edges: tuple[Edge, ...]
    # Those whose own name is one of a shared scope: how the asker knows them, and what they are called.
    shown: Mapping[bytes, tuple[str, str]]

    def name(self, entity_id: bytes) -> str:
        """The name that people know it by; its id where nothing else is known of it."""
        entity = self.entities.get(entity_id)
        if entity_id in self.shown:
            return self.shown[entity_id][0]
        return entity.name if entity else str(uuid.UUID(bytes=entity_id))

    def names(self, entity_id: bytes) -> tuple[str, ...]:
        """All names, as people know them."""
        return self.shown.get(entity_id) or self.entities[entity_id].names

    def bearing(self, name: str) -> list[bytes]:
        """The entities of an id or with a name of their own; all of a scope last."""
        return sorted((
            one.entity_id
            for one in self.entities.values()
            if name == id_text(one.entity_id) or slug(name) in {slug(known) for known in self.names(one.entity_id)}
        ), key=self.is_of_all)  # fmt: skip

    def meant(self, name: str) -> list[bytes]:
        """The entities that an id or a name means, those that stand for others in place of them; all of a scope last."""
        return list(dict.fromkeys(self.identities.canonical(one) for one in self.bearing(name)))

    def is_of_all(self, entity_id: bytes) -> bool:
        """Whether it stands for all of a scope, who are nobody by name."""
        return is_of_all(self.entities[entity_id].name)

    def at(self, t_us: int, known_us: int) -> GraphState:
        return state_at(self.edges, self.identities, t_us, known_us)


class GraphAnswers:
    """Answers from the store; safe from many threads."""

    def __init__(
        self, store: SemanticStore, clock: Clock, most: int, identity: IdentitySettings,
        policy: Callable[[ItemReads, Scope], WritePolicy],
    ) -> None:  # fmt: skip
        self._store = store
        self._clock = clock
        self._most = most
        self._identity = identity
        self._policy = policy

    def entities(self, event: Event) -> temporal_pb2.GraphAnswer:
        """The entities of the scopes, or those that bear a name."""
        request: temporal_pb2.EntitiesRequest = event.message
        answer = temporal_pb2.GraphAnswer()
        for graph in self._graphs(event, OPEN, edges=False):
            wanted = graph.meant(request.name) if request.name else [
                one for one in graph.entities if graph.identities.canonical(one) == one
            ]  # fmt: skip
            answer.entities.extend(_entity(graph, one) for one in wanted if not graph.is_of_all(one))
        answer.cut = len(answer.entities) > _count(request.limit)
        del answer.entities[_count(request.limit) :]
        return answer

    def neighbours(self, event: Event) -> temporal_pb2.GraphAnswer:
        """Edges of an entity as of a moment, with what stands at their other end. NotFound where nobody bears the name."""
        request: temporal_pb2.NeighboursRequest = event.message
        at_us, known_us = request.as_of_us or present_us(self._clock), request.known_as_of_us or OPEN
        answer, found = temporal_pb2.GraphAnswer(), False
        for graph in self._graphs(event, known_us):
            state = graph.at(at_us, known_us)
            for entity_id in graph.meant(request.entity):
                found = True
                if not graph.is_of_all(entity_id):
                    answer.entities.append(_entity(graph, entity_id))
                answer.edges.extend(_edge(graph, edge, known_us) for edge, _ in neighbours(state, entity_id))
        if not found:
            raise _nobody(request.entity)
        answer.cut = len(answer.edges) > _count(request.limit)
        del answer.edges[_count(request.limit) :]
        return answer

    def paths(self, event: Event) -> temporal_pb2.GraphPaths:
        """Ways between two entities as of a moment, the shortest first; none where they are not connected."""
        request: temporal_pb2.PathsRequest = event.message
        at_us, known_us = request.as_of_us or present_us(self._clock), request.known_as_of_us or OPEN
        hops, most = min(request.max_hops or _PATH_HOPS, _MOST_HOPS), _count(request.limit)
        found: list[temporal_pb2.GraphPath] = []
        known = {request.start: False, request.goal: False}
        for graph in self._graphs(event, known_us):
            starts, goals = graph.meant(request.start), graph.meant(request.goal)
            known[request.start] |= bool(starts)
            known[request.goal] |= bool(goals)
            state = graph.at(at_us, known_us)
            for start in starts:
                for goal in goals:
                    # One beyond tells that there are more.
                    for way in paths(state, start, goal, hops, most + 1):
                        found.append(temporal_pb2.GraphPath(edges=[_edge(graph, edge, known_us) for edge in way]))
        for name, there in known.items():
            if not there:
                raise _nobody(name)
        found.sort(key=lambda way: len(way.edges))
        return temporal_pb2.GraphPaths(paths=found[:most], cut=len(found) > most)

    def changed(self, event: Event) -> temporal_pb2.GraphChanges:
        """Edges that held at the end of a time and not at its beginning, and the other way round."""
        request: temporal_pb2.GraphChangesRequest = event.message
        until_us, known_us = request.until_us or present_us(self._clock), request.known_as_of_us or OPEN
        answer = temporal_pb2.GraphChanges()
        for graph in self._graphs(event, known_us):
            came, went = changes(graph.at(request.from_us, known_us), graph.at(until_us, known_us))
            answer.came.extend(_edge(graph, edge, known_us) for edge in came)
            answer.went.extend(_edge(graph, edge, known_us) for edge in went)
        answer.cut = max(len(answer.came), len(answer.went)) > _MOST
        del answer.came[_MOST:]
        del answer.went[_MOST:]
        return answer

    def hub(self, event: Event) -> semantic_pb2.MemoryPage:
        """Active items that mention an entity under any of its names, or whose subject or value it is."""
        request: temporal_pb2.HubRequest = event.message
        asker = asker_of(event, self._identity)
        found: list[Memory] = []
        for graph in self._graphs(event, OPEN, edges=False):
            active = list(self._active(graph.scope))
            named = {slug(request.entity.rpartition("/")[2])}
            for entity_id in graph.meant(request.entity):
                named |= {slug(name) for one in graph.identities.same(entity_id) for name in graph.names(one)}
            uris = {uri for one in active for uri in one.memory.entities if uri.rpartition("/")[2] in named}
            # What opens a sentence has a capital anyway, so that a name there need not be among the entities.
            about = [one.memory.memory_id for one in active if not named.isdisjoint(map(slug, (asker.subject(one), one.value)))]
            found += hub(uris, (one.memory for one in active), about)
        most = _count(request.limit)
        wanted = [one.memory_id for one in found[:most]]
        records = self._shown(wanted, asker.scopes, event)
        return semantic_pb2.MemoryPage(records=[records[one] for one in wanted if one in records], cut=len(found) > most)

    def related(self, event: Event) -> temporal_pb2.RelatedItems:
        """Items around an item that nobody deleted, breadth first.

        NotFound where the asker may not see it, InvalidMessage for a type that there is not.
        """
        request: temporal_pb2.RelatedRequest = event.message
        asker = asker_of(event, self._identity)
        start = id_bytes(request.memory_id)
        for type_ in request.types:
            require_relation(type_)
        if not self._store.known([start], asker.scopes):
            raise NotFound(f"No memory {request.memory_id} of this user")
        hops, most = min(request.max_hops or _RELATION_HOPS, _MOST_HOPS), _count(request.limit)
        reached = walk([start], lambda one: self._relations(one, asker.scopes), hops, request.types, most + 1)
        seen = self._shown([one.memory_id for one in reached[:most]], asker.scopes, event)
        answer = temporal_pb2.RelatedItems(cut=len(reached) > most)
        for one in reached[:most]:
            if one.memory_id in seen:
                answer.items.add(
                    record=seen[one.memory_id], hops=one.hops, subject=id_text(one.by.subject),
                    type=one.by.type, object=id_text(one.by.object), confidence=one.by.confidence,
                )  # fmt: skip
        return answer

    def _relations(self, memory_id: bytes, scopes: Sequence[Scope]) -> list[Relation]:
        """Those of an item to what the asker may see and nobody deleted."""
        found = self._store.relations([memory_id])
        ends = sorted({end for one in found for end in (one.subject, one.object)} - {memory_id})
        seen = {one.memory.memory_id for one in self._store.known(ends, scopes) if one.memory.status != "invalid"}
        return [one for one in found if {one.subject, one.object} <= seen | {memory_id}]

    def _shown(
        self, memory_ids: Sequence[bytes], scopes: Sequence[Scope], event: Event
    ) -> dict[bytes, semantic_pb2.MemoryRecord]:
        """Those of these items that the asker may see, with their reading and what they rest on."""
        names = self._identity.names(event.user)
        known = self._store.known(memory_ids, scopes)
        evidence = self._store.evidence([one.memory.memory_id for one in known])
        return {key: item_message(one, evidence[key], names) for one in known for key in (one.memory.memory_id,)}

    def merge(self, transaction: SemanticTransaction, event: Event) -> temporal_pb2.EntityMerge:
        """Two entities of one scope become one. NotFound, InvalidMessage where they are one already, ReadOnly."""
        request: temporal_pb2.MergeEntities = event.message
        for scope in self._own(event):
            graph = self._graph(transaction, scope, OPEN, self._identity.names(event.user), edges=False)
            kept, absorbed = (graph.bearing(name)[:1] for name in (request.kept, request.absorbed))
            if not (kept and absorbed):
                continue
            require_writable(self._policy(transaction, scope), scope)
            merge_id = derive_id(event.event_id, "merge").bytes
            first, second = graph.entities[kept[0]], graph.entities[absorbed[0]]
            if is_speaker(first.name) or is_speaker(second.name):
                raise InvalidMessage("Whose memory it is, is one with nobody else", "Merge two others of whom it tells.")
            done = merge(first, second, graph.merges, merge_id, event.occurred_us, "manual", 1.0, graph.entities)
            if done is None:
                raise InvalidMessage(f"{request.kept!r} and {request.absorbed!r} are one already")
            transaction.put_merge(done, scope)
            return _merge(done)
        raise NotFound(
            f"No scope has both {request.kept!r} and {request.absorbed!r}", "Look with `aico-memory graph entities`."
        )  # fmt: skip

    def undo(self, transaction: SemanticTransaction, event: Event) -> temporal_pb2.EntityMerge:
        """What was merged stands apart again; a second time changes nothing. NotFound, ReadOnly."""
        wanted = id_bytes(event.message.merge_id)
        for scope in self._own(event):
            for one in transaction.merges(scope):
                if one.merge_id == wanted:
                    require_writable(self._policy(transaction, scope), scope)
                    after = undone(one, event.occurred_us)
                    transaction.put_merge(after, scope)
                    return _merge(after)
        raise NotFound(f"No merge {event.message.merge_id} in the scopes of this user")

    def _own(self, event: Event) -> list[Scope]:
        # What is global is everybody's: nobody merges there on behalf of one user.
        return [scope for scope in asker_of(event, self._identity).scopes if scope != GLOBAL]

    def _graphs(self, event: Event, known_us: int, *, edges: bool = True) -> Iterator[_Graph]:
        asker = asker_of(event, self._identity)
        for scope in asker.scopes:
            yield self._graph(self._store, scope, known_us, asker.names, edges=edges)

    def _graph(self, reads: ItemReads, scope: Scope, known_us: int, names: Container[str], *, edges: bool) -> _Graph:
        entities = {one.entity_id: one for one in reads.entities(scope)}
        merges = tuple(reads.merges(scope))
        several = {key for key, one in entities.items() if is_of_several(one.name)}
        found: Sequence[Edge] = reads.edges(scope) if (edges and entities) or several else ()
        if len(found) > self._most:
            raise TooLarge(f"{scope.key} has {len(found)} edges", "Raise memory_model.evolution.looked_at.")
        # An item by each of them says who they are; the newest bears the name that they go by.
        says = {edge.source: edge.subject for edge in found if edge.subject in several}
        newest = sorted(reads.known(list(says), [scope]), key=lambda one: one.memory.said_order)
        shown: dict[bytes, tuple[str, str]] = {}
        for one in newest:
            who, memory = says[one.memory.memory_id], one.memory
            shown[who] = (shown_subject(entities[who].name, memory, names), shown_subject(entities[who].name, memory, ()))
        return _Graph(scope, entities, merges, Identities(merges, known_us), tuple(found), shown)

    def _active(self, scope: Scope) -> Iterator[Known]:
        after, seen = b"", 0
        while page := self._store.items([scope], ("active",), after, _PAGE):
            seen += len(page)
            if seen > self._most:
                raise TooLarge(f"{scope.key} has more than {self._most} items", "Raise memory_model.evolution.looked_at.")
            yield from page
            after = page[-1].memory.memory_id


def _entity(graph: _Graph, entity_id: bytes) -> temporal_pb2.GraphEntity:
    one = graph.entities[entity_id]
    others = [other for other in sorted(graph.identities.same(entity_id)) if other != entity_id]
    standing = [done for done in graph.merges if done.undone_at_us >= OPEN and done.absorbed in others]
    others_names = (name for other in others for name in graph.names(other))
    aliases = dict.fromkeys(name for name in (*graph.names(entity_id), *others_names) if name != graph.name(entity_id))
    return temporal_pb2.GraphEntity(
        entity_id=id_text(entity_id), scope=scope_message(graph.scope), name=graph.name(entity_id), type=one.type,
        aliases=aliases,
        merged=[id_text(other) for other in others], merge_ids=[id_text(done.merge_id) for done in standing],
    )  # fmt: skip


def _edge(graph: _Graph, edge: Edge, known_us: int) -> temporal_pb2.GraphEdge:
    belief = next((one for one in reversed(edge.beliefs) if one.known_from_us <= known_us), edge.beliefs[0])
    subject = graph.identities.canonical(edge.subject)
    object_ = None if edge.object is None else graph.identities.canonical(edge.object)
    return temporal_pb2.GraphEdge(
        memory_id=id_text(edge.source), subject_id=id_text(subject), subject=graph.name(subject), predicate=edge.predicate,
        object_id=id_text(object_), object=edge.literal if object_ is None else graph.name(object_),
        from_us=beginning_us(belief.valid_from_us), until_us=0 if belief.valid_until_us >= OPEN else belief.valid_until_us,
        known_from_us=edge.recorded_at_us, confidence=edge.confidence, scope=scope_message(graph.scope),
    )  # fmt: skip


def _merge(done: Merge) -> temporal_pb2.EntityMerge:
    return temporal_pb2.EntityMerge(
        merge_id=id_text(done.merge_id), kept_id=id_text(done.kept), absorbed_id=id_text(done.absorbed), at_us=done.at_us,
        how=done.how, undone_at_us=0 if done.undone_at_us >= OPEN else done.undone_at_us,
    )  # fmt: skip


def _nobody(name: str) -> NotFound:
    return NotFound(f"Nobody and nothing known is called {name!r}", "See `aico-memory graph entities --user USER`.")


def _count(limit: Any) -> int:
    return min(int(limit) or _LIMIT, _MOST)

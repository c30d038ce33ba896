"""What the graph ties to a question: items that mention whom it names, and where relations lead from its best matches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from aico_memory.contracts.v1 import context_pb2
from aico_memory.domain.formation.entities import Gazetteer, extract_entities, slug
from aico_memory.domain.graph.entities import Identities
from aico_memory.domain.graph.traversal import walk
from aico_memory.domain.memory import OPEN, RECORD, Condition, Memory, Scope, admits
from aico_memory.stores.semantic.port import SemanticStore
from aico_memory.stores.semantic.retrieval_port import RetrievalReads
from services.semantic.convert import id_text

# Best matches from which relations are followed, and how many items may be reached.
_STARTS, _REACHED = 5, 20
# Events of a record whose items stand for it.
_EVENTS = 8
_SCHEME, _NAMED = "entity://", "name"


class Leading(Protocol):
    """The ranked lists, one a question, of which the first is followed."""

    lists: list[list[tuple[int, float, Mapping[str, float]]]]
    memories: dict[int, Memory]
    language: str


class Connecting:
    """Reads the store; safe from many threads."""

    def __init__(self, store: SemanticStore, retrieval: RetrievalReads, gazetteer: Gazetteer) -> None:
        self._store = store
        self._retrieval = retrieval
        self._gazetteer = gazetteer

    def connect(
        self, answer: context_pb2.Candidates, request: context_pb2.CandidatesRequest, scopes: Sequence[Scope],
        asked: Sequence[Condition], ranked: Leading, found: dict[bytes, Memory],
    ) -> None:  # fmt: skip
        """Tell whom the question names, and what is reached; `found` gets what was not there.

        `asked` is what memories beside the ranked ones have to meet.
        """
        entities = extract_entities(" ".join(request.questions[:1]), self._gazetteer, ranked.language)
        answer.entities.extend(entities)
        reached: dict[bytes, tuple[int, str]] = {}
        if request.hub and entities:
            for scope in scopes:
                named = self._by_any_name(scope, entities, request.known_as_of_us or OPEN)
                for known in self._store.mentioning(scope, named, _REACHED):
                    reached.setdefault(known.memory.memory_id, (0, ""))
                    found.setdefault(known.memory.memory_id, known.memory)
        if request.hops and ranked.lists:
            best = [ranked.memories[key] for key, _, _ in ranked.lists[0][:_STARTS]]
            for memory_id, hops, relation in self._walk(self._starts(best, scopes, asked), request, scopes, found):
                reached.setdefault(memory_id, (hops, relation))
        for memory_id, (hops, relation) in reached.items():
            if memory_id in found and admits(asked, found[memory_id]):
                answer.reached.add(memory_id=id_text(memory_id), hops=hops, relation=relation)

    def _by_any_name(self, scope: Scope, entities: Sequence[str], known_us: int) -> list[str]:
        """The entities, and those of their other names in the scope: aliases, and names of whom they were found to be."""
        slugs = {uri.rpartition("/")[2]: uri for uri in entities}
        bearing = [
            one
            for one in self._store.entities_named(scope, [name.replace("-", " ") for name in slugs])
            if any(slug(name) in slugs for name in one.names)
        ]
        if not bearing:
            return list(entities)
        merges = self._store.merges(scope)
        if merges:
            identities = Identities(merges, known_us)
            same = {other for one in bearing for other in identities.same(one.entity_id)}
            bearing = [one for one in self._store.entities(scope) if one.entity_id in same]
        kinds = dict.fromkeys([_NAMED, *(uri.removeprefix(_SCHEME).partition("/")[0] for uri in entities)])
        return list(dict.fromkeys((*entities, *(
            uri for one in bearing for name in one.names for uri in self._uris(name, dict.fromkeys((*kinds, one.type)))
        ))))  # fmt: skip

    def _uris(self, name: str, types: Iterable[str]) -> Iterator[str]:
        """Under which items may mention a name."""
        known = self._gazetteer.names.get(name.casefold())
        if known is not None:
            yield known
        yield from (f"{_SCHEME}{type_}/{slug(name)}" for type_ in types if type_)

    def _starts(self, best: Sequence[Memory], scopes: Sequence[Scope], asked: Sequence[Condition]) -> list[bytes]:
        """From where relations are followed: they are between items, so those that were made of a record stand for it."""
        records = {one.version_of or one.memory_id: one.owner for one in best if one.kind == RECORD}
        starts = [one.memory_id for one in best if one.kind != RECORD]
        if not records:
            return starts
        events = [event for one in self._retrieval.sources_of(records, _EVENTS).values() for event in one.event_ids]
        made = self._retrieval.made_of(events, scopes) if events else {}
        ids = list(dict.fromkeys(one.memory_id for items in made.values() for one in items))
        return starts + [
            one.memory.memory_id for one in self._store.known(ids, scopes) if admits(asked, one.memory)
        ]  # fmt: skip

    def _walk(
        self, starts: Sequence[bytes], request: context_pb2.CandidatesRequest, scopes: Sequence[Scope],
        found: dict[bytes, Memory],
    ) -> list[tuple[bytes, int, str]]:  # fmt: skip
        """What is reached, how far away and by which type of relation; what lies in another scope is not there."""
        hops, types = min(request.hops, 4), tuple(request.relations)
        ways = walk(starts, lambda memory_id: self._store.relations([memory_id]), hops, types, _REACHED)
        missing = [one.memory_id for one in ways if one.memory_id not in found]
        found.update((known.memory.memory_id, known.memory) for known in self._store.known(missing, scopes))
        return [(one.memory_id, one.hops, one.by.type) for one in ways if one.memory_id in found]

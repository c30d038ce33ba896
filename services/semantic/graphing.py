"""The property graph follows the items: each item with a reading states one edge, under the item's own id."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence

from aico_memory.domain.formation.entities import slug
from aico_memory.domain.gate.statement import Known
from aico_memory.domain.graph.edges import Edge, never_true
from aico_memory.domain.graph.entities import Entity, Identities, is_speaker, named
from aico_memory.domain.graph.resolution import resolve
from aico_memory.domain.memory import OPEN, Evolution, Memory, Scope
from aico_memory.domain.recall.one_person import Names, names_of_one
from aico_memory.domain.temporal.versions import BELIEVED, version_of_memory
from aico_memory.ids import derive_id
from aico_memory.settings.memory_model import GraphSettings
from aico_memory.stores.semantic.item_port import ItemReads
from aico_memory.stores.semantic.port import SemanticTransaction

PERSON = "person"
# Types of URIs that say nothing of what bears the name.
_UNTYPED = frozenset({"name", "handle"})
_STATED = frozenset({"active", "superseded", "expired", "disabled", "invalid"})


class Graphing:
    """Keeps entities and edges in step with items."""

    def __init__(self, figures: GraphSettings) -> None:
        self._figures = figures

    def follow(self, transaction: SemanticTransaction, changed: Sequence[Known]) -> None:
        """Edges of these items as they are believed now; what waits for review states nothing yet."""
        stated = [one for one in changed if one.predicate and one.memory.status in _STATED and not one.memory.variant_of]
        histories = transaction.histories([one.memory.memory_id for one in stated], BELIEVED)
        for item in stated:
            self._put(transaction, item, transaction.edge_of(item.memory.memory_id), histories[item.memory.memory_id])

    def restate(self, transaction: SemanticTransaction, item: Known, at_us: int, cause: bytes) -> None:
        """The edge of an item that was read anew; what has no reading any more states none from `at_us` on."""
        memory_id = item.memory.memory_id
        edge = transaction.edge_of(memory_id)
        if item.predicate and item.memory.status in _STATED and not item.memory.variant_of:
            self._put(transaction, item, None, transaction.histories([memory_id], BELIEVED)[memory_id])
        elif edge is not None and not item.predicate and edge.valid_from_us < OPEN:
            transaction.put_edge(never_true(edge, at_us, cause), item.memory.owner)

    def _put(self, transaction: SemanticTransaction, item: Known, edge: Edge | None, history: Sequence[Evolution]) -> None:
        """The item's edge between the entities of `edge`, or between those that its words name."""
        memory = item.memory
        subject = edge.subject if edge else self._entity(transaction, memory, item.subject, _type_of(item.subject, memory))
        object_ = edge.object if edge else self._object(transaction, item)
        beliefs = version_of_memory(memory, history).beliefs
        transaction.put_edge(
            Edge(memory.memory_id, memory.scope, subject, item.predicate, object_, item.value or item.object_key,
                 item.single_valued, memory.confidence, memory.memory_id, beliefs),
            memory.owner,
        )  # fmt: skip

    def _object(self, transaction: SemanticTransaction, item: Known) -> bytes | None:
        """The entity that the object names; None where it is a value and no name."""
        wanted = slug(item.value)
        for uri in item.memory.entities:
            type_, _, name = uri.removeprefix("entity://").partition("/")
            if name and name == wanted:
                return self._entity(transaction, item.memory, item.value, "" if type_ in _UNTYPED else type_)
        return None

    def _entity(self, transaction: SemanticTransaction, memory: Memory, name: str, type_: str) -> bytes:
        """The entity that bears a name in the scope, made where there is none; readers follow merges, which may be undone."""
        known = transaction.entities_named(memory.scope, [name])
        found = resolve(name, type_, memory.scope, known, (), self._figures)
        if found.entity_id is None:
            entity_id = derive_id(uuid.UUID(bytes=memory.memory_id), f"entity {name}").bytes
            made = Entity(entity_id, memory.scope, name, type_, memory.created_at_us)
            transaction.put_entity(made, memory.owner)
            return entity_id
        entity = next(one for one in known if one.entity_id == found.entity_id)
        fuller = named(entity, name)
        if fuller is not entity:
            transaction.put_entity(fuller, memory.owner)
        return entity.entity_id


def merged_names(reads: ItemReads, scopes: Iterable[Scope], known_us: int) -> Mapping[Scope, Sequence[Names]]:
    """By scope the names of those who are one there, as known at a moment (us); scopes without such are left out."""
    found = {}
    for scope in scopes:
        merges = reads.merges(scope)
        names = names_of_one(reads.entities(scope), Identities(merges, known_us)) if merges else []
        if names:
            found[scope] = names
    return found


def _type_of(subject: str, memory: Memory) -> str:
    if is_speaker(subject):
        return PERSON
    wanted = slug(subject)
    types = [uri.removeprefix("entity://").partition("/") for uri in memory.entities]
    return next((type_ for type_, _, name in types if name == wanted and type_ not in _UNTYPED), "")

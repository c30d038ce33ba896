"""Writing items into the in-memory twin."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace

from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.domain.gate.explain import Explanation
from aico_memory.domain.gate.policy import PolicyHistory
from aico_memory.domain.gate.statement import Known, Statement
from aico_memory.domain.gate.tagging import Pair, Tag
from aico_memory.domain.graph.edges import Edge
from aico_memory.domain.graph.entities import Entity, Merge
from aico_memory.domain.graph.relations import Relation, RelationKey
from aico_memory.domain.memory import Evidence, Evolution, Memory, Scope
from aico_memory.domain.temporal.versions import STATUS, VALID_FROM, VALID_UNTIL
from aico_memory.stores.semantic.item_port import RETENTION, STRENGTHS, Interaction, StatementState, Upkeep, Vector, spans
from aico_memory.stores.semantic.port import KeptVector
from aico_memory.stores.semantic.twin_items import TwinItemReads


class TwinItemWrites(TwinItemReads):
    """The port `ItemWrites` over the twin's tables."""

    __slots__ = ()
    emitted: list[OutgoingRecord]

    def add(self, memory: Memory, evidence: Sequence[Evidence], tokens: Sequence[str], sequence: int) -> bool:
        raise NotImplementedError

    def replace(self, memory: Memory, tokens: Sequence[str] | None, sequence: int) -> None:
        raise NotImplementedError

    @contextmanager
    def attempt(self) -> Iterator[None]:
        before, emitted = self.tables.copied(), len(self.emitted)
        try:
            yield
        except BaseException:
            for one in fields(before):
                setattr(self.tables, one.name, getattr(before, one.name))
            del self.emitted[emitted:]
            raise

    def put_item(self, item: Known, tokens: Sequence[str] | None, sequence: int) -> bool:
        memory_id = item.memory.memory_id
        new = memory_id not in self.tables.keys
        if new:
            self.add(item.memory, (), tokens or (), sequence)
        else:
            self.replace(item.memory, tokens, sequence)
        self.tables.readings[memory_id] = replace(item, injected=False)
        return new

    def set_strength(self, memory: Memory) -> None:
        key = self.tables.keys[memory.memory_id]
        changed = {name: getattr(memory, name) for name in STRENGTHS}
        self.tables.memories[key] = replace(self.tables.memories[key], **changed)

    def set_retention(self, memories: Sequence[Memory]) -> None:
        for memory in memories:
            key = self.tables.keys[memory.memory_id]
            changed = {name: getattr(memory, name) for name in RETENTION}
            self.tables.memories[key] = replace(self.tables.memories[key], **changed)

    def keep_vector(self, memory_id: bytes, fingerprint: str, vector: Vector) -> None:
        tables = self.tables
        tables.active_model = tables.active_model or fingerprint
        if memory_id in tables.keys:
            key = tables.keys[memory_id]
            tables.vectors.setdefault(fingerprint, {})[key] = KeptVector(key, tables.memories[key].version, vector)

    def keep_statement(self, statement: Statement, state: StatementState) -> None:
        self.tables.statements[statement.statement_id] = (statement, state)

    def keep_stated_vector(self, statement_id: bytes, fingerprint: str, vector: Vector) -> None:
        if statement_id in self.tables.statements:
            self.tables.stated[statement_id] = fingerprint, vector

    def drop_statement(self, statement_id: bytes) -> None:
        self.tables.statements.pop(statement_id, None)
        self.tables.stated.pop(statement_id, None)

    def move_evidence(self, event_id: bytes, before: bytes, after: bytes) -> None:
        evidence = self.tables.evidence
        for place in [place for place in evidence if place[:2] == (before, event_id)]:
            moved = replace(evidence.pop(place), memory_id=after)
            evidence.setdefault((after, event_id, moved.method), moved)

    def put_history(self, memory_id: bytes, causes: Collection[bytes], changes: Sequence[Evolution]) -> None:
        known = self.tables.evolution
        for of, cause, what in list(known):
            if of == memory_id and cause in causes and what in (STATUS, VALID_FROM, VALID_UNTIL):
                del known[of, cause, what]
        for change in changes:
            known.setdefault((memory_id, change.cause, change.what), change)

    def add_relations(self, relations: Sequence[Relation]) -> int:
        before = len(self.tables.relations)
        for one in relations:
            self.tables.relations.setdefault(one.key, one)
        return len(self.tables.relations) - before

    def drop_relations(self, keys: Sequence[RelationKey]) -> None:
        for key in keys:
            self.tables.relations.pop(key, None)

    def put_entity(self, entity: Entity, owner: str) -> None:
        self.tables.entities[entity.entity_id] = entity

    def put_merge(self, merge: Merge, scope: Scope) -> None:
        self.tables.merges[merge.merge_id] = (scope, merge)

    def put_edge(self, edge: Edge, owner: str) -> None:
        self.tables.edges[edge.edge_id] = edge

    def set_policy(self, scope: Scope, history: PolicyHistory) -> None:
        self.tables.policies[scope] = history

    def pause(self, owner: str, since_us: int) -> None:
        if since_us:
            self.tables.paused[owner] = since_us
        else:
            self.tables.paused.pop(owner, None)

    def count_write(self, scope: Scope, session_id: str, at_us: int) -> None:
        for span, name in spans(session_id, at_us):
            writes, last = self.tables.usage.get((scope, span, name), (0, 0))
            self.tables.usage[scope, span, name] = (writes + 1, max(last, at_us))

    def put_tag(self, tag: Tag) -> None:
        self.tables.tags[tag.memory_id] = tag

    def count_pairs(self, pairs: Sequence[Pair]) -> None:
        for pair in pairs:
            if all(one in self.tables.keys for one in pair):
                self.tables.pairs[pair] = self.tables.pairs.get(pair, 0) + 1

    def keep_interaction(self, interaction: Interaction) -> bool:
        place = (interaction.scope, interaction.interaction_id)
        new = place not in self.tables.interactions
        self.tables.interactions.setdefault(place, interaction)
        return new

    def note_reinforced(self, scope: Scope, interaction_id: str, memory_ids: Sequence[bytes]) -> None:
        self.tables.reinforced[scope, interaction_id] = self.reinforced_by(scope, interaction_id) | set(memory_ids)

    def explain(self, explanation: Explanation, scope: Scope, owner: str, at_us: int) -> None:
        self.tables.explanations[explanation.event_id] = (scope, at_us, explanation)

    def note_applied(self, what: Upkeep, applied: Mapping[bytes, int]) -> None:
        self.tables.upkeep.update({(what, memory_id): at_us for memory_id, at_us in applied.items()})

    def note_question(self, scope: Scope, fingerprint: str, vector: Vector, at_us: int, kept: int, sequence: int = 0) -> None:
        self.tables.asked[scope] = (*self.tables.asked.get(scope, ()), (fingerprint, vector, sequence))[-kept:]

    def forget_before(self, at_us: int, tags_at_us: int) -> None:
        tables = self.tables
        tables.explanations = {key: one for key, one in tables.explanations.items() if one[1] >= at_us}
        tables.usage = {key: one for key, one in tables.usage.items() if one[1] >= at_us}
        tables.interactions = {key: one for key, one in tables.interactions.items() if one.at_us >= at_us}
        tables.reinforced = {key: one for key, one in tables.reinforced.items() if key in tables.interactions}
        tables.tags = {key: one for key, one in tables.tags.items() if one.expires_at_us >= tags_at_us}

"""The write path's part of the in-memory twin: the same answers from plain dictionaries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field, fields, replace

import numpy as np

from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.gate.explain import Explanation
from aico_memory.domain.gate.policy import PolicyHistory, Usage
from aico_memory.domain.gate.statement import Known, Neighbour, Statement
from aico_memory.domain.gate.tagging import Pair, Tag
from aico_memory.domain.graph.edges import Edge
from aico_memory.domain.graph.entities import Entity, Merge
from aico_memory.domain.graph.relations import Relation, RelationKey
from aico_memory.domain.guardrails.adjustment import Adjustment
from aico_memory.domain.guardrails.labels import RankingLabel, ReviewLabel
from aico_memory.domain.memory import OPEN, RECORD, Evidence, Evolution, Memory, Scope
from aico_memory.domain.sleep.derived import is_derived
from aico_memory.stores.index.bm25 import MemoryTextIndex
from aico_memory.stores.semantic.item_port import Interaction, StatementState, Upkeep, Vector, spans
from aico_memory.stores.semantic.port import IndexJob, KeptVector, Unread
from aico_memory.stores.semantic.sleep_port import SleepJob


@dataclass(slots=True)
class TwinTables:
    """Everything that a transaction may change."""

    memories: dict[int, Memory] = field(default_factory=dict)
    keys: dict[bytes, int] = field(default_factory=dict)
    texts: MemoryTextIndex = field(default_factory=MemoryTextIndex)
    evidence: dict[tuple[bytes, bytes, str], Evidence] = field(default_factory=dict)
    evolution: dict[tuple[bytes, bytes, str], Evolution] = field(default_factory=dict)
    languages: dict[Scope, Counter[str]] = field(default_factory=dict)
    outbox: dict[int, tuple[int, int]] = field(default_factory=dict)
    jobs: dict[bytes, IndexJob] = field(default_factory=dict)
    next_key: int = 1
    next_entry: int = 1
    vectors: dict[str, dict[int, KeptVector]] = field(default_factory=dict)
    active_model: str = ""
    readings: dict[bytes, Known] = field(default_factory=dict)
    statements: dict[bytes, tuple[Statement, StatementState]] = field(default_factory=dict)
    stated: dict[bytes, tuple[str, Vector]] = field(default_factory=dict)
    relations: dict[RelationKey, Relation] = field(default_factory=dict)
    entities: dict[bytes, Entity] = field(default_factory=dict)
    merges: dict[bytes, tuple[Scope, Merge]] = field(default_factory=dict)
    edges: dict[bytes, Edge] = field(default_factory=dict)
    policies: dict[Scope, PolicyHistory] = field(default_factory=dict)
    paused: dict[str, int] = field(default_factory=dict)
    usage: dict[tuple[Scope, str, str], tuple[int, int]] = field(default_factory=dict)
    tags: dict[bytes, Tag] = field(default_factory=dict)
    pairs: dict[Pair, int] = field(default_factory=dict)
    interactions: dict[tuple[Scope, str], Interaction] = field(default_factory=dict)
    reinforced: dict[tuple[Scope, str], frozenset[bytes]] = field(default_factory=dict)
    explanations: dict[bytes, tuple[Scope, int, Explanation]] = field(default_factory=dict)
    upkeep: dict[tuple[str, bytes], int] = field(default_factory=dict)
    adjustments: dict[str, Adjustment] = field(default_factory=dict)
    review_labels: dict[bytes, ReviewLabel] = field(default_factory=dict)
    ranking_labels: dict[str, RankingLabel] = field(default_factory=dict)
    unread: dict[bytes, Unread] = field(default_factory=dict)
    replayed: dict[Pair, int] = field(default_factory=dict)
    sleep_jobs: dict[bytes, SleepJob] = field(default_factory=dict)
    asked: dict[Scope, tuple[tuple[str, Vector, int], ...]] = field(default_factory=dict)

    def copied(self) -> TwinTables:
        """Tables of their own with the same records."""
        fresh = copy(self)
        for name in (one.name for one in fields(self)):
            value = getattr(self, name)
            if isinstance(value, dict):
                setattr(fresh, name, copy(value))
        fresh.texts, fresh.languages = deepcopy(self.texts), deepcopy(self.languages)
        fresh.vectors = {fingerprint: dict(kept) for fingerprint, kept in self.vectors.items()}
        return fresh


def holds_key(memory: Memory) -> bool:
    """Whether it is the one open active item of its key."""
    open_ = memory.status == "active" and memory.valid_until_us == OPEN
    return bool(memory.fact_key) and open_ and memory.variant_of is None


class TwinItemReads:
    """The port `ItemReads` over the twin's tables."""

    __slots__ = ()

    @property
    def tables(self) -> TwinTables:
        raise NotImplementedError

    def known(self, memory_ids: Sequence[bytes], scopes: Sequence[Scope]) -> list[Known]:
        found = [self._read(memory_id) for memory_id in dict.fromkeys(memory_ids) if memory_id in self.tables.keys]
        return [one for one in found if one.memory.scope in scopes]

    def items(self, scopes: Sequence[Scope], statuses: Sequence[str], after: bytes, limit: int) -> list[Known]:
        return self._items(
            lambda one: one.scope in scopes and one.memory_id > after and (not statuses or one.status in statuses)
        )[:limit]

    def owned(self, scopes: Sequence[Scope], owners: Sequence[str], after: bytes, limit: int) -> list[bytes]:
        every = self.tables.memories.values()
        found = sorted(one.memory_id for one in every if one.scope in scopes and one.owner in owners and one.memory_id > after)
        return found[:limit]

    def by_key(self, scope: Scope, key: str) -> list[Known]:
        return self._items(lambda one: bool(key) and one.scope == scope and one.fact_key == key)

    def by_predicate(self, scope: Scope, subject: str, predicate: str, limit: int) -> list[Known]:
        meant = (normalise_fact_key(subject), predicate)
        found = [
            one for one in self._items(lambda one: one.scope == scope)
            if predicate and (normalise_fact_key(one.subject), one.predicate) == meant
        ]  # fmt: skip
        return _newest(found)[:limit]

    def by_object(self, scope: Scope, object_key: str, limit: int) -> list[Known]:
        found = self._items(lambda one: one.scope == scope)
        return _newest([one for one in found if object_key and one.object_key == object_key])[:limit]

    def newest(self, scope: Scope, limit: int) -> list[Known]:
        return _newest(self._items(lambda one: _counts(one, scope)))[:limit]

    def variants(self, memory_ids: Sequence[bytes]) -> list[Known]:
        return self._items(lambda one: one.variant_of in memory_ids)

    def mentioning(self, scope: Scope, entities: Sequence[str], limit: int) -> list[Known]:
        found = self._items(lambda one: _counts(one, scope) and bool(set(one.entities) & set(entities)))
        return sorted(found, key=lambda one: -self.tables.keys[one.memory.memory_id])[:limit]

    def nearest(self, scope: Scope, fingerprint: str, vector: Vector, limit: int) -> list[Neighbour]:
        stated = self._items(lambda one: _counts(one, scope) and not is_derived(one))
        active = {one.memory.memory_id: one for one in stated}
        near = self.similarities(list(active), fingerprint, vector)
        ordered = sorted(near.items(), key=lambda one: (-one[1], one[0]))[:limit]
        return [Neighbour(active[memory_id], similarity) for memory_id, similarity in ordered]

    def vectors_of(self, memory_ids: Sequence[bytes], fingerprint: str) -> dict[bytes, Vector]:
        tables, found = self.tables, {}
        for memory_id in memory_ids:
            key = tables.keys.get(memory_id, 0)
            kept = tables.vectors.get(fingerprint, {}).get(key)
            if kept is not None and kept.version == tables.memories[key].version:
                found[memory_id] = kept.vector.astype(np.float16).astype(np.float32)
        return found

    def similarities(self, memory_ids: Sequence[bytes], fingerprint: str, vector: Vector) -> dict[bytes, float]:
        near = self.vectors_of(memory_ids, fingerprint)
        return {memory_id: round(float(half @ vector), 2) for memory_id, half in near.items()}

    def former_vector(self, memory_id: bytes, fingerprint: str) -> Vector | None:
        kept = self.tables.vectors.get(fingerprint, {}).get(self.tables.keys.get(memory_id, 0))
        return None if kept is None else kept.vector.astype(np.float16).astype(np.float32)

    def stated_vector(self, statement_id: bytes) -> tuple[str, Vector] | None:
        fingerprint, vector = self.tables.stated.get(statement_id, ("", None))
        return None if vector is None else (fingerprint, vector.astype(np.float16).astype(np.float32))

    def active_count(self, scope: Scope) -> int:
        return len(self._items(lambda one: _counts(one, scope)))

    def mean_access(self, scope: Scope) -> float:
        found = self._items(lambda one: one.scope == scope and one.status in {"active", "superseded"} and one.tier != "dormant")
        return sum(one.memory.access_count for one in found) / len(found) if found else 0.0

    def outlined(self, memory_ids: Sequence[bytes], scopes: Sequence[Scope]) -> list[Memory]:
        return [_outline(one) for one in self.known(memory_ids, scopes)]

    def active_outlines(self, scope: Scope) -> list[Memory]:
        return [_outline(one) for one in self._items(lambda one: _counts(one, scope))]

    def said_before(self, scope: Scope, session_id: str, said_at_us: int, limit: int) -> list[tuple[int, str]]:
        found = [
            (one.said_at_us, key, one.text) for key, one in self.tables.memories.items()
            if (one.scope, one.session_id, one.kind, one.status) == (scope, session_id, RECORD, "active")
            and one.said_at_us <= said_at_us
        ]  # fmt: skip
        return [(at_us, text) for at_us, _, text in sorted(found)[-limit:]]

    def statements(self, scope: Scope, key: str, limit: int) -> list[Statement]:
        return self._under_key(scope, key, "kept", limit)

    def unproven(self, scope: Scope, key: str, limit: int) -> list[Statement]:
        return self._under_key(scope, key, "unproven", limit)

    def _under_key(self, scope: Scope, key: str, state: StatementState, limit: int) -> list[Statement]:
        found = [one for one, held in self.tables.statements.values() if held == state and one.scope == scope]
        return sorted((one for one in found if one.key == key), key=lambda one: one.order)[-limit:]

    def statement(self, statement_id: bytes) -> tuple[Statement, StatementState] | None:
        return self.tables.statements.get(statement_id)

    def referring(self, scope: Scope, after_us: int, limit: int) -> list[Statement]:
        found = [one for one, state in self.tables.statements.values() if state == "referring" and one.scope == scope]
        return sorted((one for one in found if one.said_at_us > after_us), key=lambda one: one.order)[:limit]

    def waiting(self, owner: str, event_ids: Collection[bytes], limit: int) -> list[Statement]:
        found = [one for one, state in self.tables.statements.values() if state == "sleep" and one.owner == owner]
        chosen = [one for one in found if not event_ids or one.event_id in event_ids]
        return sorted(chosen, key=lambda one: one.order)[:limit]

    def evidence_counts(self, memory_ids: Sequence[bytes]) -> dict[bytes, int]:
        proofs = {(one.memory_id, one.event_id) for one in self.tables.evidence.values() if one.method != "replay"}
        counted = Counter(memory_id for memory_id, _ in proofs)
        return {memory_id: counted[memory_id] for memory_id in memory_ids}

    def items_of_event(self, event_id: bytes) -> list[bytes]:
        return sorted({one.memory_id for one in self.tables.evidence.values() if one.event_id == event_id})

    def histories(self, memory_ids: Sequence[bytes], what: Collection[str] = ()) -> dict[bytes, list[Evolution]]:
        every = [one for one in self.tables.evolution.values() if not what or one.what in what]
        every.sort(key=lambda one: (one.at_us, one.cause, one.what))
        return {memory_id: [one for one in every if one.memory_id == memory_id] for memory_id in memory_ids}

    def relations(self, memory_ids: Sequence[bytes]) -> list[Relation]:
        wanted = set(memory_ids)
        return [one for _, one in sorted(self.tables.relations.items()) if wanted & {one.subject, one.object}]

    def scope_relations(self, scope: Scope) -> list[Relation]:
        tables = self.tables
        return [one for _, one in sorted(tables.relations.items()) if tables.memories[tables.keys[one.subject]].scope == scope]

    def relation_count(self, scope: Scope) -> int:
        return len(self.scope_relations(scope))

    def entities(self, scope: Scope) -> list[Entity]:
        return [one for _, one in sorted(self.tables.entities.items()) if one.scope == scope]

    def entities_named(self, scope: Scope, names: Sequence[str]) -> list[Entity]:
        wanted = {normalise_fact_key(name) for name in names}
        return [one for one in self.entities(scope) if wanted & {normalise_fact_key(name) for name in one.names}]

    def merges(self, scope: Scope) -> list[Merge]:
        return [one for _, (of, one) in sorted(self.tables.merges.items()) if of == scope]

    def edges(self, scope: Scope, touching: Sequence[bytes] | None = None) -> list[Edge]:
        found = [one for _, one in sorted(self.tables.edges.items()) if one.scope == scope]
        return [one for one in found if touching is None or {one.subject, one.object} & set(touching)]

    def edge_of(self, memory_id: bytes) -> Edge | None:
        return self.tables.edges.get(memory_id)

    def policy(self, scope: Scope) -> PolicyHistory | None:
        return self.tables.policies.get(scope)

    def paused_us(self, owner: str) -> int:
        return self.tables.paused.get(owner, 0)

    def usage(self, scope: Scope, session_id: str, at_us: int) -> Usage:
        found = {span: self.tables.usage.get((scope, span, name), (0, 0))[0] for span, name in spans(session_id, at_us)}
        return Usage(found.get("session", 0), found["hour"])

    def tags(self, scope: Scope, session_id: str, at_us: int) -> list[Tag]:
        found = [one for _, one in sorted(self.tables.tags.items()) if (one.scope, one.session_id) == (scope, session_id)]
        return [one for one in found if one.expires_at_us > at_us]

    def pair_counts(self, memory_ids: Sequence[bytes]) -> dict[Pair, int]:
        return {pair: count for pair, count in self.tables.pairs.items() if set(pair) <= set(memory_ids)}

    def interaction(self, scope: Scope, interaction_id: str) -> Interaction | None:
        return self.tables.interactions.get((scope, interaction_id))

    def reinforced_by(self, scope: Scope, interaction_id: str) -> frozenset[bytes]:
        return self.tables.reinforced.get((scope, interaction_id), frozenset())

    def explanation(self, event_id: bytes, scopes: Sequence[Scope]) -> Explanation | None:
        scope, _, found = self.tables.explanations.get(event_id, (None, 0, None))
        return found if scope in scopes else None

    def explanations(self, scopes: Sequence[Scope], since_us: int, until_us: int, limit: int) -> list[Explanation]:
        found = [
            (at, one) for scope, at, one in self.tables.explanations.values() if scope in scopes and since_us <= at < until_us
        ]
        return [one for _, one in sorted(found, key=lambda pair: (pair[0], pair[1].event_id), reverse=True)][:limit]

    def explained(self, event_id: bytes) -> bool:
        return event_id in self.tables.explanations

    def applied_at(self, what: Upkeep, memory_ids: Sequence[bytes]) -> dict[bytes, int]:
        known = self.tables.upkeep
        return {one: known[what, one] for one in memory_ids if (what, one) in known}

    def questions(self, scope: Scope, fingerprint: str, limit: int, before: int = 0) -> list[Vector]:
        asked = self.tables.asked.get(scope, ())
        found = [vector for model, vector, place in asked if model == fingerprint and (not before or place < before)]
        return [vector.astype(np.float16).astype(np.float32) for vector in found[-limit:]]

    def _items(self, wanted: Callable[[Memory], bool]) -> list[Known]:
        found = (one for one in self.tables.memories.values() if one.kind != RECORD and wanted(one))
        return [self._read(one.memory_id) for one in sorted(found, key=lambda one: one.memory_id)]

    def _read(self, memory_id: bytes) -> Known:
        memory = self.tables.memories[self.tables.keys[memory_id]]
        reading = self.tables.readings.get(memory_id)
        return replace(reading, memory=memory) if reading else Known(memory)


def _outline(one: Known) -> Memory:
    return replace(one.memory, text="", entities=(), fact_key="", speaker="", zone="")


def _counts(memory: Memory, scope: Scope) -> bool:
    return memory.scope == scope and memory.status == "active" and memory.tier != "dormant"


def _newest(found: Sequence[Known]) -> list[Known]:
    return sorted(found, key=lambda one: one.memory.said_order, reverse=True)

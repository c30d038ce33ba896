"""In-memory twin of L1: the same ports in plain Python, nothing on disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from aico_memory.domain.memory import (
    Evidence,
    Evolution,
    Memory,
    Scope,
    View,
    admits,
    conditions,
    facets_of,
    replaced_text,
)
from aico_memory.errors import InvalidMessage, NotFound
from aico_memory.stores.index.naive import KeptSource
from aico_memory.stores.index.text_port import TextHit
from aico_memory.stores.index.vector_port import VectorEntry
from aico_memory.stores.semantic.labels import MemoryLabels
from aico_memory.stores.semantic.port import IndexJob, KeptVector, PendingEntry, Unembedded, Unread
from aico_memory.stores.semantic.twin_item_writes import TwinItemWrites
from aico_memory.stores.semantic.twin_items import TwinItemReads, TwinTables, holds_key
from aico_memory.stores.semantic.twin_sleep import TwinSleepReads, TwinSleepWrites
from aico_memory.stores.sql import MemoryConsumerState, MemoryTransaction
from aico_memory.stores.sql.ledger import MemoryLedger


class MemorySemanticTransaction(TwinItemWrites, TwinSleepWrites, MemoryTransaction):
    """One transaction on a copy, which takes the place of the original when it commits."""

    __slots__ = ("_tables",)

    def __init__(self, tables: TwinTables) -> None:
        super().__init__()
        self._tables = tables

    @property
    def tables(self) -> TwinTables:
        return self._tables

    def ledger(self) -> MemoryLedger:
        return MemoryLedger(self._tables.adjustments)

    def labels(self) -> MemoryLabels:
        return MemoryLabels(self._tables.review_labels, self._tables.ranking_labels)

    def memory(self, memory_id: bytes) -> Memory | None:
        key = self._tables.keys.get(memory_id)
        return None if key is None else self._tables.memories[key]

    def add(self, memory: Memory, evidence: Sequence[Evidence], tokens: Sequence[str], sequence: int) -> bool:
        tables = self._tables
        if memory.memory_id in tables.keys:
            return False
        self._check_key_is_free(memory)
        key, tables.next_key = tables.next_key, tables.next_key + 1
        tables.keys[memory.memory_id] = key
        tables.memories[key] = memory
        for one in evidence:
            self.add_evidence(one)
        if memory.language:
            tables.languages.setdefault(memory.scope, Counter())[memory.language] += 1
        self._index(key, memory, tokens, sequence)
        return True

    def replace(self, memory: Memory, tokens: Sequence[str] | None, sequence: int) -> None:
        key = self._tables.keys.get(memory.memory_id)
        if key is None:
            raise NotFound(f"No memory {memory.memory_id.hex()}")
        self._check_key_is_free(memory)
        self._tables.memories[key] = memory
        self._index(key, memory, tokens, sequence)

    def add_evidence(self, evidence: Evidence) -> bool:
        place = (evidence.memory_id, evidence.event_id, evidence.method)
        if evidence.memory_id not in self._tables.keys:
            raise NotFound(f"No memory {evidence.memory_id.hex()}")
        if place in self._tables.evidence:
            return False
        self._tables.evidence[place] = evidence
        return True

    def evidence(self, memory_id: bytes) -> list[Evidence]:
        return _evidence(self._tables, memory_id)

    def add_evolution(self, evolution: Evolution) -> None:
        self._tables.evolution.setdefault((evolution.memory_id, evolution.cause, evolution.what), evolution)

    def note_use(self, memory_ids: Sequence[bytes], scope: Scope, at_us: int) -> int:
        used = 0
        for memory_id in memory_ids:
            key = self._tables.keys.get(memory_id, 0)
            memory = self._tables.memories.get(key)
            if memory is not None and memory.scope == scope and memory.status == "active":
                last = max(memory.last_accessed_us, at_us)
                self._tables.memories[key] = replace(memory, access_count=memory.access_count + 1, last_accessed_us=last)
                used += 1
        return used

    def read_later(self, unread: Unread) -> None:
        self._tables.unread.setdefault(unread.event_id, unread)

    def add_job(self, job: IndexJob) -> None:
        self._tables.jobs.setdefault(job.event_id, job)

    def finish_job(self, event_id: bytes) -> None:
        self._tables.jobs.pop(event_id, None)

    def _index(self, key: int, memory: Memory, tokens: Sequence[str] | None, sequence: int) -> None:
        if tokens is not None:
            self._tables.texts.put(key, memory.scope, tokens)
        entry, self._tables.next_entry = self._tables.next_entry, self._tables.next_entry + 1
        self._tables.outbox[entry] = (key, sequence)

    def _check_key_is_free(self, memory: Memory) -> None:
        if holds_key(memory):
            for other in self._tables.memories.values():
                same = (other.scope, other.fact_key) == (memory.scope, memory.fact_key)
                if same and holds_key(other) and other.memory_id != memory.memory_id:
                    raise InvalidMessage("Two active memories of one scope with the same fact key")


class MemorySemanticStore(TwinItemReads, TwinSleepReads, MemoryConsumerState):
    """The ports `SemanticStore` and `IndexQueue` in plain Python."""

    def __init__(self) -> None:
        super().__init__()
        self._tables = TwinTables()

    @property
    def tables(self) -> TwinTables:
        return self._tables

    @contextmanager
    def reading_ledger(self) -> Iterator[MemoryLedger]:
        yield MemoryLedger(self._tables.adjustments)

    @contextmanager
    def reading_labels(self) -> Iterator[MemoryLabels]:
        yield MemoryLabels(self._tables.review_labels, self._tables.ranking_labels)

    @contextmanager
    def transaction(self) -> Iterator[MemorySemanticTransaction]:
        with super().transaction() as outgoing:
            tables = self._tables.copied()
            transaction = MemorySemanticTransaction(tables)
            yield transaction
            outgoing.cursor, outgoing.emitted = transaction.cursor, transaction.emitted
            self._tables = tables

    def get(self, memory_ids: Sequence[bytes], scopes: Sequence[Scope]) -> list[Memory]:
        tables = self._tables
        found = [tables.memories[tables.keys[one]] for one in dict.fromkeys(memory_ids) if one in tables.keys]
        return [memory for memory in found if memory.scope in scopes]

    def page(self, view: View, after: bytes, limit: int) -> list[Memory]:
        last = self._tables.keys.get(after, 0)
        return [memory for key, memory in sorted(self._tables.memories.items()) if key > last and _sees(view, memory)][:limit]

    def admitted(self, keys: Sequence[int], view: View, *, shown: bool = False) -> dict[int, Memory]:
        memories = self._tables.memories
        return {key: memories[key] for key in keys if key in memories and _sees(view, memories[key])}

    def search_text(self, tokens: Sequence[str], view: View, limit: int) -> list[TextHit]:
        tables = self._tables
        ranked = tables.texts.ranked(tokens, view.scopes)
        return [hit for hit in ranked if _sees(view, tables.memories[hit.key])][:limit]

    def evidence(self, memory_ids: Sequence[bytes]) -> dict[bytes, list[Evidence]]:
        tables = self._tables
        return {memory_id: _evidence(tables, memory_id) for memory_id in memory_ids}

    def evolution(self, memory_id: bytes) -> list[Evolution]:
        found = [one for one in self._tables.evolution.values() if one.memory_id == memory_id]
        return sorted(found, key=lambda one: (one.at_us, one.cause, one.what))

    def languages(self, scopes: Sequence[Scope], limit: int) -> list[str]:
        counted = sum((self._tables.languages.get(scope, Counter()) for scope in set(scopes)), Counter[str]())
        return [language for language, _ in sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))][:limit]

    def export(self, owner: str, after: bytes, limit: int) -> list[Memory]:
        found = [one for one in self._tables.memories.values() if one.memory_id > after and owner in ("", one.owner)]
        return sorted(found, key=lambda memory: memory.memory_id)[:limit]

    def count(self) -> int:
        return len(self._tables.memories)

    def close(self) -> None:
        return None

    def fingerprint(self) -> str:
        return self._tables.active_model

    def vectors(self, fingerprint: str) -> KeptSource:
        return KeptSource(lambda: self.entries(fingerprint, sorted(self._tables.memories)))

    def pending(self, limit: int) -> list[PendingEntry]:
        return [PendingEntry(entry, key) for entry, (key, _) in sorted(self._tables.outbox.items())][:limit]

    def oldest_pending(self) -> int:
        return min((sequence for _, sequence in self._tables.outbox.values()), default=0)

    def pending_count(self) -> int:
        return len(self._tables.outbox)

    def unembedded(self, keys: Sequence[int], fingerprint: str) -> list[Unembedded]:
        memories = self._tables.memories
        bare = [key for key in sorted(set(keys)) if key in memories and not self._has_vector(key, fingerprint)]
        return [Unembedded(key, memories[key].version, memories[key].text) for key in bare]

    def missing(self, fingerprint: str, after: int, limit: int) -> list[int]:
        keys = (key for key in sorted(self._tables.memories) if key > after)
        return [key for key in keys if not self._has_vector(key, fingerprint)][:limit]

    def keep(self, fingerprint: str, vectors: Sequence[KeptVector]) -> None:
        self._tables.active_model = self._tables.active_model or fingerprint
        kept = self._tables.vectors.setdefault(fingerprint, {})
        fresh = [one for one in vectors if one.key in self._tables.memories and not self._has_vector(one.key, fingerprint)]
        kept.update((one.key, one) for one in fresh)

    def entries(self, fingerprint: str, keys: Sequence[int]) -> list[VectorEntry]:
        memories = self._tables.memories
        kept = self._tables.vectors.get(fingerprint, {})
        return [
            VectorEntry(key, memories[key].scope, facets_of(memories[key]), kept[key].vector.astype("f2").astype("f4"))
            for key in sorted(set(keys))
            if self._has_vector(key, fingerprint)
        ]

    def settle(self, entries: Sequence[int]) -> None:
        for entry in entries:
            self._tables.outbox.pop(entry, None)

    def activate(self, fingerprint: str) -> None:
        self._tables.active_model = fingerprint
        self._tables.vectors = {fingerprint: self._tables.vectors.get(fingerprint, {})}
        self._tables.stated = {key: one for key, one in self._tables.stated.items() if one[0] == fingerprint}

    def rows_after(self, after: int, limit: int) -> list[tuple[int, Memory]]:
        return [(key, memory) for key, memory in sorted(self._tables.memories.items()) if key > after][:limit]

    def put_tokens(self, texts: Sequence[tuple[int, Scope, Sequence[str]]]) -> None:
        for key, scope, tokens in texts:
            self._tables.texts.put(key, scope, tokens)

    def job(self) -> IndexJob | None:
        return next(iter(self._tables.jobs.values()), None)

    def advance_job(self, job: IndexJob) -> None:
        self._tables.jobs[job.event_id] = job

    def _has_vector(self, key: int, fingerprint: str) -> bool:
        kept = self._tables.vectors.get(fingerprint, {}).get(key)
        memory = self._tables.memories.get(key)
        return kept is not None and memory is not None and kept.version == memory.version


def _sees(view: View, memory: Memory) -> bool:
    inside = memory.scope in view.scopes and not replaced_text(memory, view)
    return inside and admits(conditions(view), facets_of(memory))


def _evidence(tables: TwinTables, memory_id: bytes) -> list[Evidence]:
    found = [one for one in tables.evidence.values() if one.memory_id == memory_id]
    return sorted(found, key=lambda one: (one.at_us, one.event_id, one.method))

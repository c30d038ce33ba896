"""The twin's answers for assembling a context, from plain dictionaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aico_memory.domain.memory import RECORD, Evidence, Memory, Scope
from aico_memory.stores.semantic.item_port import Vector
from aico_memory.stores.semantic.retrieval_port import HotTier
from aico_memory.stores.semantic.twin import MemorySemanticStore


class TwinRetrieval:
    """The port `RetrievalReads` over the twin's tables."""

    def __init__(self, store: MemorySemanticStore) -> None:
        self._store = store

    def hot(self, scopes: Sequence[Scope], tier: HotTier, now_us: int) -> list[Memory]:
        def anchored(one: Memory) -> bool:
            return one.kind == "constraint" and one.pinned

        def warm(one: Memory) -> bool:
            confirmed = max(one.updated_at_us, one.last_referenced_us)
            return one.utility >= tier.utility and one.access_count >= tier.uses and confirmed >= tier.since_us

        found = [
            one
            for one in self._store.tables.memories.values()
            if one.scope in scopes and one.kind != RECORD and one.status == "active" and one.tier != "dormant"
            and one.valid_from_us <= now_us < one.valid_until_us and (anchored(one) or warm(one))
        ]  # fmt: skip
        return sorted(found, key=lambda one: (not anchored(one), -one.utility, -one.access_count, one.memory_id))[: tier.limit]

    def vectors_of(self, memory_ids: Sequence[bytes], fingerprint: str) -> dict[bytes, Vector]:
        kept, tables = self._store.tables.vectors.get(fingerprint, {}), self._store.tables
        found = {}
        for memory_id in memory_ids:
            key = tables.keys.get(memory_id, 0)
            if key in kept and kept[key].version == tables.memories[key].version:
                found[memory_id] = kept[key].vector
        return found

    def sources_of(self, memory_ids: Sequence[bytes], most: int) -> dict[bytes, list[Evidence]]:
        found = {}
        for memory_id in memory_ids:
            said = [one for one in self._store.evidence([memory_id])[memory_id] if one.method != "replay"][:most]
            bare = [replace(one, name="", metadata_json="", excerpt="") for one in said[1:]]
            found[memory_id] = [*said[:1], *bare]
        return found

    def around(self, memory: Memory, limit: int) -> tuple[list[Memory], list[Memory]]:
        beside = [
            (one.said_at_us, key, one)
            for key, one in self._store.tables.memories.items()
            if (one.scope, one.session_id, one.kind, one.status) == (memory.scope, memory.session_id, RECORD, "active")
            and one.memory_id != memory.memory_id
        ]
        before = sorted((entry for entry in beside if entry[0] <= memory.said_at_us), key=lambda entry: (-entry[0], -entry[1]))
        after = sorted((entry for entry in beside if entry[0] > memory.said_at_us), key=lambda entry: entry[:2])
        return [entry[2] for entry in before[:limit]], [entry[2] for entry in after[:limit]]

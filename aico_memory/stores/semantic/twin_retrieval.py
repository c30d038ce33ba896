"""The twin's answers for assembling a context, from plain dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from aico_memory.domain.memory import RECORD, Memory, Scope
from aico_memory.domain.retrieval.outlived import Made
from aico_memory.stores.semantic.retrieval_port import NO_SOURCES, HotTier, Sources
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

    def sources_of(self, owners: Mapping[bytes, str], most: int) -> dict[bytes, Sources]:
        found = {}
        for memory_id in owners:
            said = [one for one in self._store.evidence([memory_id])[memory_id] if one.method != "replay"][:most]
            found[memory_id] = Sources(said[0], tuple(one.event_id for one in said)) if said else NO_SOURCES
        return found

    def made_of(self, event_ids: Collection[bytes], scopes: Sequence[Scope]) -> dict[bytes, list[Made]]:
        tables, found = self._store.tables, dict[bytes, list[Made]]()
        proofs = {(one.event_id, one.memory_id) for one in tables.evidence.values() if one.method != "replay"}
        for event_id, memory_id in sorted(proofs):
            one = tables.memories[tables.keys[memory_id]]
            if event_id in event_ids and one.kind != RECORD and one.scope in scopes:
                made = Made(one.status, one.said_at_us, one.valid_from_us, one.valid_until_us, memory_id)
                found.setdefault(event_id, []).append(made)
        return found

    def hold(self, keys: Sequence[int]) -> None:
        """Everything is."""

    def told(
        self, memories: Sequence[Memory], sources: Mapping[bytes, Sources], tell: Callable[[Memory, Sources], bytes]
    ) -> list[bytes]:
        return [tell(memory, sources[memory.version_of or memory.memory_id]) for memory in memories]

    def forget_destroyed(self) -> None:
        """Nothing is sealed here."""

    def around(self, memory: Memory, limit: int) -> tuple[list[Memory], list[Memory]]:
        beside = [
            (one.said_at_us, key, one)
            for key, one in self._store.tables.memories.items()
            if (one.scope, one.session_id, one.kind, one.status) == (memory.scope, memory.session_id, RECORD, "active")
            and one.memory_id != memory.memory_id
        ]
        rows = (key for key, one in self._store.tables.memories.items() if one.memory_id == memory.memory_id)
        # A memory that is not stored comes after all of its moment.
        own = (memory.said_at_us, next(rows, 1 << 63))
        before = sorted((entry for entry in beside if entry[:2] < own), key=lambda entry: (-entry[0], -entry[1]))
        after = sorted((entry for entry in beside if entry[:2] > own), key=lambda entry: entry[:2])
        return [entry[2] for entry in before[:limit]], [entry[2] for entry in after[:limit]]

    def withdrawn(self, scopes: Sequence[Scope], limit: int) -> list[bytes]:
        found = [
            one
            for one in self._store.tables.memories.values()
            if one.scope in scopes and one.kind == RECORD and one.status == "invalid"
        ]
        found.sort(key=lambda one: (-one.received_at_us, one.memory_id))
        return [one.memory_id for one in found[:limit]]

    def edited(self, scopes: Sequence[Scope], limit: int) -> list[Memory]:
        memories = self._store.tables.memories.values()
        former = {one.version_of for one in memories if one.kind == RECORD}
        found = [one for one in memories if one.scope in scopes and one.status == "active" and one.memory_id in former]
        return sorted(found, key=lambda one: (-one.received_at_us, one.memory_id))[:limit]

"""In-memory twin of the text index's truth."""

from __future__ import annotations

from collections.abc import Sequence

from aico_memory.domain.memory import Memory, Scope
from aico_memory.stores.index.text_source import Change
from aico_memory.stores.semantic.twin import MemorySemanticStore


class TwinTextSource:
    """The port `TextSource` over the twin of the store."""

    def __init__(self, store: MemorySemanticStore) -> None:
        self._store = store

    def position(self) -> int:
        return self._store.tables.next_entry - 1

    def changes(self, after: int, limit: int) -> list[Change]:
        tables = self._store.tables
        entries = sorted((entry, key) for entry, (key, _) in tables.outbox.items() if entry > after)
        return [Change(entry, key, tables.memories[key].scope) for entry, key in entries[:limit]]

    def memories(self, scope: Scope, after: int, limit: int) -> list[tuple[int, Memory]]:
        found = sorted(self._store.tables.memories.items())
        return [(key, memory) for key, memory in found if key > after and memory.scope == scope][:limit]

    def newest(self, memories: int) -> list[Scope]:
        found = sorted(self._store.tables.memories.items(), reverse=True)[:memories]
        return list(dict.fromkeys(memory.scope for _, memory in found))

    def opened(self, keys: Sequence[int]) -> list[tuple[int, Memory]]:
        memories = self._store.tables.memories
        return [(key, memories[key]) for key in sorted(set(keys)) if key in memories]

    def size(self, scope: Scope) -> int:
        return sum(memory.scope == scope for memory in self._store.tables.memories.values())

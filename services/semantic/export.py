"""The canonical export of L1, equal after equal streams.

One line a memory with everything that hangs on it: evidence, history, reading, statement, relations, its edge in the
graph, tag, and why (with its record). Lines before the first memory tell the policies of the scope of a user, and since when
their long-term memory is paused.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from aico_memory.contracts.v1 import bus_pb2
from aico_memory.domain.memory import RECORD, Evidence, Evolution, Memory, Scope
from aico_memory.domain.scopes import GLOBAL
from aico_memory.errors import InvalidMessage
from aico_memory.stores.semantic.port import SemanticStore
from services.semantic.convert import REPLAY

SECTION = "semantic.memory"
POLICY_SECTION = "semantic.policy"
PAUSE_SECTION = "semantic.paused"
# What one page may weigh; the bus carries answers of a few megabytes.
_PAGE_BYTES = 3 * 1024 * 1024
# Depend on when the machines did something, not on what was said.
OPERATIONAL = (
    "received_at_us",
    "heard",
    "access_count",
    "last_accessed_us",
    "reference_count",
    "last_referenced_us",
    "storage_strength",
    "stability",
    "difficulty",
)
OMITTED = (
    *(f"{SECTION}.{name}" for name in OPERATIONAL), f"{SECTION}.evidence[{REPLAY}]", f"{SECTION}.vector",
    f"{SECTION}.statement.heard",
    "semantic.co_activation", "semantic.question", "semantic.upkeep", "semantic.write_usage",
)  # fmt: skip


def export_page(store: SemanticStore, user: str, after: str, limit: int) -> bus_pb2.ExportPage:
    """A page of lines by ascending memory id; `after` is the `next` of the page before."""
    try:
        start = bytes.fromhex(after)
    except ValueError:
        raise InvalidMessage(f"{after[:64]!r} is not where a page begins") from None
    memories = store.export(user, start, limit)
    ids = [memory.memory_id for memory in memories]
    beside = _Beside(store, memories)
    lines = [] if after else _policies(store, user)
    room, last = _PAGE_BYTES, b""
    for memory in memories:
        line = beside.line(memory)
        room -= len(line.encode())
        if room < 0 and last:
            return bus_pb2.ExportPage(lines=lines, next=last.hex(), omitted=OMITTED)
        lines.append(line)
        last = memory.memory_id
    following = ids[-1].hex() if len(memories) == limit else ""
    return bus_pb2.ExportPage(lines=lines, next=following, omitted=OMITTED)


class _Beside:
    """What hangs on the memories of a page, read together."""

    def __init__(self, store: SemanticStore, memories: Sequence[Memory]) -> None:
        ids = [memory.memory_id for memory in memories]
        self._store = store
        self._evidence = store.evidence(ids)
        self._histories = store.histories(ids)
        self._known = {one.memory.memory_id: one for one in store.known(ids, list({one.scope for one in memories}))}
        self._relations: dict[bytes, list[Any]] = {memory_id: [] for memory_id in ids}
        for one in store.relations(ids):
            if one.subject in self._relations:
                self._relations[one.subject].append([one.type, one.object.hex(), one.confidence, one.at_us])

    def line(self, memory: Memory) -> str:
        memory_id = memory.memory_id
        content: dict[str, Any] = {
            field.name: _plain(getattr(memory, field.name)) for field in fields(Memory) if field.name not in OPERATIONAL
        }
        content |= {
            "section": SECTION,
            "key": memory_id.hex(),
            "scope": memory.scope.key,
            "evidence": [_values(one) for one in self._evidence[memory_id] if one.method != REPLAY],
            "evolution": [_values(one) for one in self._histories[memory_id]],
        }
        content |= self._of_record(memory) if memory.kind == RECORD else self._of_item(memory)
        return _dumped(content)

    def _of_record(self, memory: Memory) -> dict[str, Any]:
        cause = next((one.event_id for one in self._evidence[memory.memory_id] if one.method != REPLAY), b"")
        explained = self._store.explanation(cause, [memory.scope]) if cause and memory.version_of is None else None
        return {} if explained is None else {"explanation": asdict(explained)}

    def _of_item(self, memory: Memory) -> dict[str, Any]:
        known = self._known[memory.memory_id]
        found: dict[str, Any] = {"relations": self._relations[memory.memory_id]}
        found["reading"] = [known.subject, known.predicate, known.value, known.object_key, known.single_valued]
        stated = self._store.statement(memory.memory_id)
        if stated is not None:
            told = asdict(stated[0])
            del told["heard"]
            found["statement"] = {**told, "state": stated[1]}
        edge = self._store.edge_of(memory.memory_id)
        if edge is not None:
            found["edge"] = asdict(edge)
        return found


def _policies(store: SemanticStore, user: str) -> list[str]:
    """Policies of the user's own scope and of everybody's, and a pause of theirs; without a user only everybody's."""
    since_us = store.paused_us(user) if user else 0
    lines = [_dumped({"section": PAUSE_SECTION, "key": user, "since_us": since_us})] if since_us else []
    for scope in (Scope("user", user), GLOBAL) if user else (GLOBAL,):
        history = store.policy(scope)
        for version in history.versions if history else ():
            content = {"section": POLICY_SECTION, "key": f"{scope.key} {version.number}", **version._asdict()}
            lines.append(_dumped({**content, "policy": asdict(version.policy)}))
    return lines


def _values(entry: Evidence | Evolution) -> dict[str, Any]:
    names = (field.name for field in fields(entry) if field.name != "memory_id")
    return {name: _plain(getattr(entry, name)) for name in names}


def _dumped(content: dict[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    return sorted(value) if isinstance(value, frozenset) else value

"""The canonical export of L1: one line a memory with evidence and history, equal after equal streams."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from aico_memory.contracts.v1 import bus_pb2
from aico_memory.domain.memory import Evidence, Evolution, Memory
from aico_memory.errors import InvalidMessage
from aico_memory.stores.semantic.port import SemanticStore
from services.semantic.convert import REPLAY

SECTION = "semantic.memory"
# Depend on when the machines did something, not on what was said.
OPERATIONAL = (
    "received_at_us",
    "access_count",
    "last_accessed_us",
    "reference_count",
    "last_referenced_us",
    "storage_strength",
)
OMITTED = (*(f"{SECTION}.{name}" for name in OPERATIONAL), f"{SECTION}.evidence[{REPLAY}]", f"{SECTION}.vector")


def export_page(store: SemanticStore, user: str, after: str, limit: int) -> bus_pb2.ExportPage:
    """A page of lines by ascending memory id; `after` is the `next` of the page before."""
    try:
        start = bytes.fromhex(after)
    except ValueError:
        raise InvalidMessage(f"{after[:64]!r} is not where a page begins") from None
    memories = store.export(user, start, limit)
    evidence = store.evidence([memory.memory_id for memory in memories])
    lines = [_line(memory, evidence[memory.memory_id], store.evolution(memory.memory_id)) for memory in memories]
    following = memories[-1].memory_id.hex() if len(memories) == limit else ""
    return bus_pb2.ExportPage(lines=lines, next=following, omitted=OMITTED)


def _line(memory: Memory, evidence: Sequence[Evidence], evolution: Sequence[Evolution]) -> str:
    content: dict[str, Any] = {
        field.name: _plain(getattr(memory, field.name)) for field in fields(Memory) if field.name not in OPERATIONAL
    }
    content |= {
        "section": SECTION,
        "key": memory.memory_id.hex(),
        "scope": memory.scope.key,
        "evidence": [_values(one) for one in evidence if one.method != REPLAY],
        "evolution": [_values(one) for one in evolution],
    }
    return json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _values(entry: Evidence | Evolution) -> dict[str, Any]:
    names = (field.name for field in fields(entry) if field.name != "memory_id")
    return {name: _plain(getattr(entry, name)) for name in names}


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value

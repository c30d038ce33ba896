"""Items for tests of the memory model."""

from __future__ import annotations

from typing import Any

from aico_memory.domain.memory import Memory, Scope

DAY = 86_400_000_000
START = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z


def item(number: int = 1, text: str = "User likes tea", at_us: int = START, **fields: Any) -> Memory:
    """An active fact of alice, said, recorded and made at `at_us`."""
    names = ("said_at_us", "recorded_at_us", "valid_from_us", "created_at_us", "updated_at_us", "received_at_us")
    times = dict.fromkeys(names, at_us)
    defaults: dict[str, Any] = {"kind": "fact", "owner": "alice", "scope": Scope("user", "alice"), **times}
    return Memory(memory_id=number.to_bytes(16, "big"), text=text, **{**defaults, **fields})

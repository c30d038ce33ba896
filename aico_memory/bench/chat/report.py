"""The outcome of a chat run as JSON and as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aico_memory.bench.chat.run import Chatted

# Kinds of items that are shown, the most frequent first.
SHOWN = 25
_COUNTS = ("filters", "rules", "done", "items", "peak_mib")


def as_json(machine: Mapping[str, object], result: Chatted) -> dict[str, Any]:
    """Counts by name, rates and memory."""
    return {
        "benchmark": "chat", "machine": dict(machine), "messages": result.messages, "users": result.users,
        "acknowledged_per_second": round(result.messages / max(result.published_s, 1e-9), 1),
        "searchable_per_second": round(result.messages / max(result.searchable_s, 1e-9), 1),
        "searchable_ms": {"p50": round(result.p50_ms, 1), "p95": round(result.p95_ms, 1)},
        "records": result.records, "statements": result.statements, "dead_letters": result.dead_letters,
        "filters": dict(result.filters.most_common()), "rules": dict(result.rules.most_common()),
        "done": dict(result.done.most_common()), "items": dict(result.items.most_common(SHOWN)), "peak_mib": result.peak_mib,
    }  # fmt: skip


def as_text(result: Mapping[str, Any]) -> str:
    """A line a figure, then the counts."""
    lines = [
        f"{result['messages']} messages of {result['users']} users, {result['records']} records, "
        f"{result['statements']} statements, {result['dead_letters']} dead letters",
        f"acknowledged {result['acknowledged_per_second']} msg/s, searchable {result['searchable_per_second']} msg/s; "
        f"one message searchable after p50 {result['searchable_ms']['p50']} ms, p95 {result['searchable_ms']['p95']} ms",
    ]
    for name in _COUNTS:
        lines.append(f"{name}: " + (", ".join(f"{key} {count}" for key, count in result[name].items()) or "none"))
    return "\n".join(lines)

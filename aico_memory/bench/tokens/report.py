"""The token benchmark as JSON and as text, with its bars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from aico_memory.bench.tokens.run import Tokens

READING_BAR, COMPACTION_BAR, CONTEXT_BAR = 0.75, 0.74, 2000


def as_json(machine: Mapping[str, object], found: Tokens) -> dict[str, Any]:
    """Everything measured, and each bar with whether it is held."""
    bars = [
        *({"name": f"read {one.name}: saved", "bar": READING_BAR, "value": round(one.saved, 4),
           "held": one.saved >= READING_BAR} for one in found.readings),
        {"name": "compaction: saved", "bar": COMPACTION_BAR, "value": round(found.compaction["saved"], 4),
         "held": found.compaction["saved"] >= COMPACTION_BAR},
        {"name": "compaction: patterns unchanged", "bar": True, "value": found.patterns_kept, "held": found.patterns_kept},
        {"name": "context: largest, tokens", "bar": CONTEXT_BAR, "value": found.context_largest,
         "held": found.context_largest <= CONTEXT_BAR},
    ]  # fmt: skip
    return {"benchmark": "tokens", "machine": dict(machine), **asdict(found), "bars": bars}


def as_text(result: Mapping[str, Any]) -> str:
    """A line a figure, then the bars."""
    compaction = result["compaction"]
    lines = [
        f"tokenizer {result['tokenizer']}",
        f"fetching all: {result['fetched']} tokens",
        *(
            f"{one['name']}: {one['tokens']} tokens ({', '.join(f'{key} {part}' for key, part in one['parts'].items())}), "
            f"{one['saved']:.1%} saved"
            for one in result["readings"]
        ),
        f"compaction: {compaction['compacted']} compacted, {compaction['kept_whole']} whole, {compaction['tokens_before']} → "
        f"{compaction['tokens_after']} tokens, {compaction['saved']:.1%} saved; patterns {', '.join(result['patterns'])}",
        f"context: mean {result['context_mean']:.0f}, largest {result['context_largest']} tokens; "
        f"facts that were asked for and stood in it {result['context_recall']:.1%}",
        *(
            f"{'held' if bar['held'] else 'NOT HELD'}: {bar['name']} {bar['value']} (bar {bar['bar']})"
            for bar in result["bars"]
        ),
    ]
    return "\n".join(lines)

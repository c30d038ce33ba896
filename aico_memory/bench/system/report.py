"""The system benchmark as JSON and as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from aico_memory.bench.bar import Bar
from aico_memory.bench.system.run import MEBIBYTE, Row

# Bytes of all processes together but the model's.
MEMORY_BAR = 350_000_000
# Milliseconds: contexts of one user of 10,000 messages, and a context that was kept.
_CONTEXT_BAR, _CONTEXT_MESSAGES, _KEPT_BAR = 25.0, 10_000, 5.0
# Growth of the p50 without the embedding from the smallest to the largest memory.
_GROWTH_BAR, _SMALLEST, _LARGEST = 3.0, 1_000, 100_000


def as_json(machine: dict[str, object], rows: Sequence[Row], ready_s: float) -> dict[str, Any]:
    """Everything measured, for `--json`."""
    shown = [{**asdict(row), "proportional_mib_without_model": without_model(row.proportional_mib)} for row in rows]
    held = [{"name": bar.name, "measured": bar.measured, "wanted": bar.bar, "held": bar.held} for bar in bars(rows)]
    return {"benchmark": "system", "machine": machine, "ready_s": ready_s, "rows": shown, "bars": held}


def show(console: Console, machine: dict[str, object], rows: Sequence[Row], ready_s: float) -> None:
    """A table of stages and one of processes per row, and the bars."""
    console.print(machine)
    console.print(f"start to ready: {ready_s:.1f} s")
    for row in rows:
        table = Table("stage", "p50 ms", "p95 ms", title=f"context, {row.situation} (median of runs, lowest–highest)")
        for stage in row.p50:
            table.add_row(stage, str(row.p50[stage]), str(row.p95[stage]))
        console.print(table)
        embedding = row.p50.get("semantic.embed")
        share = embedding.median / row.p50["over the bus"].median if embedding else 0.0
        console.print(
            f"repeated question p95 {row.cached_p95_ms:.1f} ms; search p95 {row.search_p95_ms:.1f} ms; "
            f"share of the embedding {share:.0%}; degraded answers {row.degraded}"
        )
        if row.ingest_per_second:
            console.print(f"published {row.ingest_per_second:,.0f} msg/s, searchable after {row.searchable_after_s:.1f} s")
        if row.writes_per_second:
            console.print(f"written meanwhile: {row.writes_per_second:.1f} messages a second")
        memory = Table("process", "resident MiB", "proportional MiB")
        for name, mebibytes in row.resident_mib.items():
            memory.add_row(name, f"{mebibytes:.0f}", f"{row.proportional_mib[name]:.0f}")
        memory.add_row("all", f"{sum(row.resident_mib.values()):.0f}", f"{sum(row.proportional_mib.values()):.0f}")
        plain, parts = without_model(row.resident_mib), without_model(row.proportional_mib)
        memory.add_row("all without the model", f"{plain:.0f}", f"{parts:.0f}")
        console.print(memory)
    table = Table("bar", "measured", "at most", "held")
    for bar in bars(rows):
        table.add_row(bar.name, f"{bar.measured:.3g}", f"{bar.bar:g}", "yes" if bar.held else "no")
    console.print(table)


def bars(rows: Sequence[Row]) -> list[Bar]:
    """The bars that these rows say something of."""
    alone = {row.messages: row for row in rows if row.users == 1 and not row.writes_per_second}
    found = []
    for messages, row in sorted(alone.items()):
        if messages == _CONTEXT_MESSAGES:
            found.append(
                Bar(f"context p95 of {messages:,} messages, ms", row.p95["over the bus"].median, _CONTEXT_BAR, at_least=False)
            )
        found.append(Bar(f"kept context p95 of {messages:,} messages, ms", row.cached_p95_ms, _KEPT_BAR, at_least=False))
        taken = without_model(row.proportional_mib) * MEBIBYTE / 1e6
        found.append(
            Bar(
                f"memory without the model at {messages:,} messages, shared pages once, MB",
                taken,
                MEMORY_BAR / 1e6,
                at_least=False,
            )
        )
    if _SMALLEST in alone and _LARGEST in alone:
        first, last = (alone[size].p50["without the embedding"].median for size in (_SMALLEST, _LARGEST))
        found.append(
            Bar(
                f"growth of p50 without the embedding, {_SMALLEST:,} to {_LARGEST:,}", last / first, _GROWTH_BAR, at_least=False
            )
        )
    return found


def without_model(mebibytes: Mapping[str, float]) -> float:
    """The sum over all processes but the one that holds the embedding model."""
    return sum(value for name, value in mebibytes.items() if name != "model")

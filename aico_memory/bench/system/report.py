"""The system benchmark as JSON and as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from aico_memory.bench.system.run import MEBIBYTE, Size

# Bytes of all processes together but the model's.
MEMORY_BAR = 350_000_000


def as_json(machine: dict[str, object], rows: list[Size], ready_s: float) -> dict[str, Any]:
    """Everything measured, for `--json`."""
    sizes = [{**asdict(row), "proportional_mib_without_model": without_model(row.proportional_mib)} for row in rows]
    return {"benchmark": "system", "machine": machine, "ready_s": ready_s, "sizes": sizes}


def show(console: Console, machine: dict[str, object], rows: list[Size], ready_s: float) -> None:
    """A table of stages and one of processes per size."""
    console.print(machine)
    console.print(f"start to ready: {ready_s:.1f} s")
    for row in rows:
        title = f"context, {row.messages:,} messages of one user (median of runs, lowest–highest)"
        table = Table("stage", "p50 ms", "p95 ms", title=title)
        for stage in row.p50:
            table.add_row(stage, str(row.p50[stage]), str(row.p95[stage]))
        console.print(table)
        embedding = row.p50.get("semantic.embed")
        share = embedding.median / row.p50["over the bus"].median if embedding else 0.0
        console.print(
            f"published {row.ingest_per_second:,.0f} msg/s, searchable after {row.searchable_after_s:.1f} s; "
            f"repeated question p95 {row.cached_p95_ms:.1f} ms; search p95 {row.search_p95_ms:.1f} ms; "
            f"share of the embedding {share:.0%}; degraded answers {row.degraded}"
        )
        memory = Table("process", "resident MiB", "proportional MiB")
        for name, mebibytes in row.resident_mib.items():
            memory.add_row(name, f"{mebibytes:.0f}", f"{row.proportional_mib[name]:.0f}")
        memory.add_row("all", f"{sum(row.resident_mib.values()):.0f}", f"{sum(row.proportional_mib.values()):.0f}")
        plain, parts = without_model(row.resident_mib), without_model(row.proportional_mib)
        memory.add_row("all without the model", f"{plain:.0f}", f"{parts:.0f}")
        console.print(memory)
        held = "held" if parts * MEBIBYTE <= MEMORY_BAR else "not held"
        console.print(f"bar: {MEMORY_BAR / 1e6:.0f} MB without the model, shared pages counted once: {held}")


def without_model(mebibytes: Mapping[str, float]) -> float:
    """The sum over all processes but the one that holds the embedding model."""
    return sum(value for name, value in mebibytes.items() if name != "model")

"""The index benchmark as JSON and as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from aico_memory.bench.index.run import Row


def as_json(machine: dict[str, object], rows: Sequence[Row]) -> dict[str, Any]:
    """Everything measured, for `--json`."""
    return {
        "benchmark": "index", "machine": machine, "rows": [asdict(row) for row in rows], "chroma_faster_from": crossing(rows),
    }  # fmt: skip


def crossing(rows: Sequence[Row]) -> int | None:
    """The smallest size at which Chroma answered a question faster, at p50; None where it never did."""
    exact = {row.vectors: row.p50 for row in rows if row.index == "exact"}
    faster = [row.vectors for row in rows if row.index != "exact" and row.p50 < exact[row.vectors]]
    return min(faster, default=None)


def show(console: Console, machine: dict[str, object], rows: Sequence[Row]) -> None:
    """A line each index and size, and from which size on Chroma is faster."""
    console.print(machine)
    table = Table("index", "vectors", "build s", "p50 ms", "p95 ms", "three vectors, p50 ms", "recall of the exact best 500")
    for row in rows:
        table.add_row(
            row.index, f"{row.vectors:,}", f"{row.build_s:.1f}", f"{row.p50:.1f}", f"{row.p95:.1f}", f"{row.three_p50:.1f}",
            f"{row.recall:.3f}",
        )  # fmt: skip
    console.print(table)
    if any(row.index != "exact" for row in rows):
        found = crossing(rows)
        console.print(f"Chroma is faster from {found:,} vectors on" if found else "Chroma is faster at none of these sizes")

"""The bus benchmark as JSON and as text."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from aico_memory.bench.bar import Bar
from aico_memory.bench.bus.run import Row

COLUMNS = {
    "acknowledged_per_second": "msg/s to ack",
    "delivered_per_second": "msg/s to delivery",
    "ack_p50_ms": "ack p50 ms",
    "ack_p99_ms": "ack p99 ms",
    "deliver_p50_ms": "deliver p50 ms",
    "deliver_p99_ms": "deliver p99 ms",
    "cpu_us": "server CPU µs/msg",
}


def as_json(machine: dict[str, object], rows: list[Row], bars: list[Bar], remarks: list[str]) -> dict[str, Any]:
    """Everything measured, for `--json`."""
    return {
        "benchmark": "bus",
        "machine": machine,
        "rows": [
            {
                "contestant": row.contestant,
                "load": row.load,
                **{name: {"median": each.median, "low": each.low, "high": each.high} for name, each in row.figures.items()},
            }
            for row in rows
        ],
        "bars": [
            {"name": bar.name, "measured": bar.measured, "bar": bar.bar, "at_least": bar.at_least, "held": bar.held}
            for bar in bars
        ],
        "remarks": remarks,
    }


def show(console: Console, machine: dict[str, object], rows: list[Row], bars: list[Bar], remarks: list[str]) -> None:
    """Tables of medians (lowest–highest of the runs), then the bars."""
    console.print(machine)
    for load in dict.fromkeys(row.load for row in rows):
        table = Table("contestant", *COLUMNS.values(), title=load)
        for row in rows:
            if row.load == load:
                cells = ("" if not row.figures[key].median else str(row.figures[key]) for key in COLUMNS)
                table.add_row(row.contestant, *cells)
        console.print(table)
    table = Table("bar", "measured", "wanted", "held")
    for bar in bars:
        sign = "≥" if bar.at_least else "≤"
        table.add_row(bar.name, f"{bar.measured:.3g}", f"{sign} {bar.bar:g}", "yes" if bar.held else "NO")
    console.print(table)
    for remark in remarks:
        console.print(remark)

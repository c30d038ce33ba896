"""Latencies, storage and bars as JSON and as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from aico_memory.bench.skills.run import FEEDBACK, FRESH, GIVEN, Plan, Stage

# p95 in ms; bytes a user.
BARS = {GIVEN: 3.0, FRESH: 15.0, FEEDBACK: 5.0}
STORAGE_BAR = 1_048_576


def bars_of(stage: Stage) -> list[dict[str, Any]]:
    """What was promised with all users."""
    found: list[dict[str, Any]] = [
        {"what": f"{what}: p95, ms", "bar": bar, "measured": round(stage.p95[what].median, 2)} for what, bar in BARS.items()
    ]
    found.append({"what": "storage, bytes a user", "bar": STORAGE_BAR, "measured": round(stage.bytes_per_user)})
    return [{**one, "held": one["measured"] <= one["bar"]} for one in found]


def as_json(machine: dict[str, object], plan: Plan, stages: Sequence[Stage]) -> dict[str, Any]:
    """Everything measured, for `--json`."""
    return {
        "benchmark": "skills",
        "machine": machine,
        "plan": asdict(plan),
        "stages": [asdict(stage) for stage in stages],
        "bars": bars_of(stages[-1]),
    }


def show(console: Console, machine: dict[str, object], plan: Plan, stages: Sequence[Stage]) -> None:
    """A table a stage, then the bars."""
    console.print(machine)
    for stage in stages:
        title = f"{stage.users:,} users x {plan.skills} skills, one request at a time (median of runs, lowest–highest)"
        table = Table("over the bus", "p50 ms", "p95 ms", title=title)
        for what in stage.p50:
            table.add_row(what, str(stage.p50[what]), str(stage.p95[what]))
        console.print(table)
        worker = ", ".join(f"{name.removeprefix('selection_ms_')} {value:.2f}" for name, value in stage.worker.items())
        console.print(
            f"inside the worker, a selection: {worker} ms; {stage.bytes_per_user:,.0f} bytes a user on disk; "
            f"loaded in {stage.load_seconds:.0f} s; CPU of a selection of a known topic: "
            + ", ".join(f"{name} {spent:.2f}" for name, spent in stage.cpu_ms.items())
            + " ms"
        )
    for bar in bars_of(stages[-1]):
        console.print(f"{bar['what']}: {bar['measured']:,} (bar {bar['bar']:,}) {'held' if bar['held'] else 'missed'}")

"""The figures of the simulation: first interaction at the bar, levels with 95 % intervals, bars held or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aico_memory.bench.behavior.run import COLD, FIXED, LEARNED, SHIPPED, Outcome, Plan
from aico_memory.bench.behavior.worlds import Floats

BAR = 0.70
# Two-sided 95 % of a normal distribution.
QUANTILE = 1.96
SHOWN = (1, 5, 10, 20, 50, 100, 200)
STEADY_FROM = 50


def first_reached(reached: Floats, bar: float = BAR) -> int | None:
    """The first interaction (from 1) from which the mean over people stays at the bar to the end; None: never."""
    below = np.flatnonzero(reached.mean(0) < bar)
    if below.size == 0:
        return 1
    return int(below[-1]) + 2 if below[-1] + 1 < reached.shape[1] else None


def interval(values: Floats) -> float:
    """Half the 95 % interval of the mean over people."""
    return float(QUANTILE * values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def earliest_latest(reached: Floats) -> tuple[int | None, int | None]:
    """The first interaction if every mean lay at the upper, and at the lower, end of its 95 % interval."""
    half = QUANTILE * reached.std(0, ddof=1) / np.sqrt(len(reached))
    return first_reached(reached + half), first_reached(reached - half)


def row_of(outcome: Outcome) -> dict[str, Any]:
    """One line of the table."""
    reached = outcome.reached
    steady = reached[:, STEADY_FROM:].mean(1) if reached.shape[1] > STEADY_FROM else reached.mean(1)
    low, high = earliest_latest(reached)
    return {
        "world": outcome.world,
        "feedback": outcome.feedback,
        "algorithm": outcome.algorithm,
        "first": first_reached(reached),
        "first_interval": [low, high],
        "at": {str(step): round(float(reached[:, step - 1].mean()), 4) for step in SHOWN if step <= reached.shape[1]},
        "steady_from": STEADY_FROM + 1 if reached.shape[1] > STEADY_FROM else 1,
        "steady": round(float(steady.mean()), 4),
        "steady_interval": round(interval(steady), 4),
        "oracle": round(outcome.oracle, 4),
    }


@dataclass(frozen=True, slots=True)
class Bar:
    """One thing that was promised."""

    what: str
    wanted: str
    measured: str
    held: bool


def bars_of(rows: Sequence[dict[str, Any]]) -> list[Bar]:
    """The bars of the specification for which the rows hold what is needed."""
    found = {(row["world"], row["feedback"], row["algorithm"]): row for row in rows}
    bars = []
    for algorithm, world, feedback, limit in (
        (COLD, "balanced", 1.0, 20),
        (COLD, "balanced", 0.3, 80),
        (LEARNED, "balanced", 1.0, 5),
        (LEARNED, "balanced", 0.3, 16),
        (SHIPPED, "population-led", 1.0, 10),
    ):
        row = found.get((world, feedback, algorithm))
        if row is not None:
            first = row["first"]
            what = f"{algorithm}: {world}, {feedback:.0%} feedback"
            bars.append(Bar(what, f"≤ {limit}", str(first or "never"), first is not None and first <= limit))
    for row in rows:
        fixed = found.get((row["world"], row["feedback"], FIXED))
        # Told the truth, the best fixed skill is what a common prior has to match; cold, where half is personal.
        asked = row["algorithm"] == LEARNED or (row["algorithm"], row["world"]) == (COLD, "balanced")
        if fixed is not None and asked and row["steady_from"] > 1:
            what = f"{row['algorithm']}: {row['world']}, {row['feedback']:.0%} feedback, interactions 51 to the end"
            bars.append(
                Bar(what, f"≥ {fixed['steady']:.3f} (best fixed)", f"{row['steady']:.3f}", row["steady"] >= fixed["steady"])
            )
    return bars


def as_json(machine: Any, plan: Plan, rows: Sequence[dict[str, Any]], bars: Sequence[Bar]) -> dict[str, Any]:
    """The whole result."""
    return {
        "benchmark": "behavior",
        "machine": machine,
        "parameterisation": plan.parameterisation,
        "users": plan.users,
        "seeds": plan.seeds,
        "interactions": plan.interactions,
        "bar": BAR,
        "rows": list(rows),
        "bars": [{"what": bar.what, "wanted": bar.wanted, "measured": bar.measured, "held": bar.held} for bar in bars],
    }


def as_text(result: dict[str, Any]) -> str:
    """The result as lines."""
    head = (
        f"{result['parameterisation']}: {result['users']} users x {result['seeds']} seeds, {result['interactions']} "
        f"interactions; first interaction from which the mean true P(thumb up) stays >= {result['bar']:.2f} "
        "[with every mean at the upper, lower end of its 95 % interval]"
    )
    lines = [head]
    place: tuple[str, float] | None = None
    for row in result["rows"]:
        if place != (row["world"], row["feedback"]):
            place = (row["world"], row["feedback"])
            lines.append(f"\n{row['world']}, {row['feedback']:.0%} feedback, oracle {row['oracle']:.3f}")
        low, high = (str(one or "never") for one in row["first_interval"])
        at = "  ".join(f"{step}: {value:.3f}" for step, value in row["at"].items())
        lines.append(
            f"  {row['algorithm']:<36} first {row['first'] or 'never'!s:>5} [{low}, {high}]   {at}   "
            f"{row['steady_from']}+: {row['steady']:.3f} ± {row['steady_interval']:.3f}"
        )
    lines.append("\nbars")
    lines += [
        f"  {'held  ' if bar['held'] else 'MISSED'}  {bar['what']}: {bar['measured']} (wanted {bar['wanted']})"
        for bar in result["bars"]
    ]
    return "\n".join(lines)

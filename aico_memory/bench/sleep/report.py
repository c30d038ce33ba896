"""Nights and the month as JSON, as tables, and as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from aico_memory.bench.drawing import new_figure
from aico_memory.bench.sleep.month import AWAKE, Day, Month
from aico_memory.bench.sleep.nights import Night

# Of one user with 1,000 messages: seconds, MiB more, and how many times slower contexts may be meanwhile.
TIME_BAR, MEMORY_BAR, SLOWER_BAR = 30.0, 400.0, 2.0
LOST_BAR = 0.01


def as_json(machine: dict[str, object], nights: Sequence[Night], month: Month | None) -> dict[str, Any]:
    """Everything measured, for `--json`."""
    shown: dict[str, Any] = {
        "benchmark": "sleep", "machine": machine, "nights": [{**asdict(night), "work": night.work} for night in nights],
    }  # fmt: skip
    if month is not None:
        shown["month"] = {
            "seconds": month.seconds, "degraded": month.degraded, "days": [_plain(day) for day in month.days],
            "everything": {day: scores.rounded() for day, scores in month.everything.items()},
            "awake": {day: scores.rounded() for day, scores in month.awake.items()},
        }  # fmt: skip
    return shown


def show(console: Console, machine: dict[str, object], nights: Sequence[Night], month: Month | None) -> None:
    """Tables and bars."""
    console.print(machine)
    for night in nights:
        _show_night(console, night)
    if month is not None:
        _show_month(console, month)


def _plain(day: Day) -> dict[str, Any]:
    """`asdict` would make a counter anew of pairs, and count these."""
    counts = {"tiers": dict(day.tiers), "statuses": dict(day.statuses), "done": dict(day.done)}
    return {"day": day.day, **counts, "retained": day.retained, "recalled": day.recalled, "told_before": day.told_before}


def _show_night(console: Console, night: Night) -> None:
    table = Table(
        "phase", "s", "counts", title=f"{night.users} user(s), {night.messages:,} messages: {night.status} {night.error}"
    )
    for phase, seconds in night.phases.items():
        counts = ", ".join(f"{name} {count:,}" for name, count in sorted(night.counts[phase].items()) if count)
        table.add_row(phase, f"{seconds:.2f}", counts)
    console.print(table)
    console.print(
        f"from the first message to searchable {night.told_s:.1f} s, asleep {night.slept_s:.1f} s; the model computed "
        f"{night.embedding_s:.1f} s of it ({night.embedding_s / max(night.told_s + night.slept_s, 1e-9):.0%}); "
        f"{night.extra_mib:.0f} MiB more at the worst moment"
    )
    ratio = night.during_p95_ms / max(night.idle_p95_ms, 1e-9)
    console.print(
        f"context p95: {night.idle_p95_ms:.1f} ms with nothing going on, {night.during_p95_ms:.1f} ms while asleep "
        f"(× {ratio:.2f}, {night.during_asked} questions; bar {SLOWER_BAR:g}: {_held(ratio <= SLOWER_BAR)})"
    )
    work = ", ".join(f"{name} {count:,}" for name, count in night.work.items())
    console.print(f"made of it: {work or 'nothing, so that its times count for nothing'}")
    if night.users == 1 and night.messages == 1_000:
        taken = night.told_s + night.slept_s
        console.print(
            f"bar: {TIME_BAR:g} s from the first message to the end of the night: {taken:.1f} s, {_held(taken <= TIME_BAR)}"
        )
        console.print(f"bar: {MEMORY_BAR:g} MiB more: {_held(night.extra_mib <= MEMORY_BAR)}")


def _show_month(console: Console, month: Month) -> None:
    columns = ("night", *AWAKE, "dormant", "expired", "superseded", "of the first day awake", "facts recalled")
    table = Table(*columns, title="A month in fast motion")
    for day in month.days:
        counts = [day.tiers.get(tier, 0) for tier in (*AWAKE, "dormant")]
        counts += (day.statuses.get(status, 0) for status in ("expired", "superseded"))
        table.add_row(str(day.day), *(f"{count:,}" for count in counts), f"{day.retained:.0%}", f"{day.recalled:.0%}")
    console.print(table)
    if month.days:
        done = ", ".join(f"{name} {count:,}" for name, count in sorted(month.days[-1].done.items()) if count)
        console.print(f"the nights did: {done}")
    if len(month.days) > 1 and month.days[0].told_before:
        told, first_night, end = month.days[0], month.days[1], month.days[-1]
        console.print(
            f"awake items of the conversations: {told.told_before:,} as told, {first_night.told_before:,} after the first "
            f"night, which forms what a session had no room for, {end.told_before:,} after the last"
        )
    if len(month.everything) > 1:
        first, last = min(month.everything), max(month.everything)
        for name, scores in (("everything", month.everything), ("dormant left out", month.awake)):
            lost = scores[first].recall_10 - scores[last].recall_10
            held = f"; bar: less than one point lost, {_held(lost < LOST_BAR)}" if name == "everything" else ""
            console.print(
                f"R@10 of {scores[first].questions:,} questions, {name}: {scores[first].recall_10:.3f} before, "
                f"{scores[last].recall_10:.3f} after {last} nights{held}"
            )
    console.print(f"{month.seconds:.0f} s; searches that a tier left unanswered: {month.degraded}")


def draw(month: Month, path: Path) -> Path:
    """Tiers, retention and recall over the nights as one PNG. Raises ConfigurationInvalid without matplotlib."""
    figure = new_figure(10, 8)
    above, below = figure.subplots(2, 1, sharex=True)
    days = [day.day for day in month.days]
    above.stackplot(
        days,
        *([day.tiers.get(tier, 0) for day in month.days] for tier in (*AWAKE, "dormant")),
        labels=[*AWAKE, "dormant"],
        alpha=0.8,
    )
    for status in ("expired", "superseded"):
        above.plot(days, [day.statuses.get(status, 0) for day in month.days], label=status, linestyle="--")
    above.set(title="Items by tier, and what is over", ylabel="items")
    above.legend(loc="upper left", fontsize="small")
    below.plot(days, [day.retained for day in month.days], label="items of the first day that are awake", linewidth=2)
    below.plot(
        days,
        [day.recalled for day in month.days],
        label="facts of the first day that are recalled",
        linestyle="--",
        linewidth=2,
    )
    for name, scores in (("R@10, everything", month.everything), ("R@10, dormant left out", month.awake)):
        if scores:
            below.plot(list(scores), [one.recall_10 for one in scores.values()], label=name, marker="o", linestyle=":")
    below.set(title="Retention and recall", xlabel="nights", ylabel="share", ylim=(0, 1.05))
    below.legend(loc="lower left", fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    return path


def _held(held: bool) -> str:
    return "held" if held else "not held"

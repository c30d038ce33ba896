"""Figures of selection and learning, from hourly counts: accuracy, adaptation, exploration, percentiles of times."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from aico_memory.domain.behavioral.records import HourFigure

SELECTED: Final = "selected"
EXPLORED: Final = "explored"
POSITIVE: Final = "positive"
NEGATIVE: Final = "negative"
EXPLORED_POSITIVE: Final = "exploration_positive"
EXPLORED_NEGATIVE: Final = "exploration_negative"
SELECTION_MS: Final = "selection_ms"
CONTEXT_MS: Final = "context_ms"
# What skills of people's own are counted as, all together: their ids may tell of whoever made them.
OWN: Final = "own"
BATCH = ("batch_thumbs", "batch_skills", "batch_alpha", "batch_beta", "batch_seconds")
# Times are counted in bins whose upper ends grow by this factor from this one on, so a percentile is a tenth off at most.
FIRST_MS, FACTOR = 0.05, 1.1
_PERCENTILES = (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a query; hour 0: of the whole time."""

    hour_us: int = 0
    skill_id: str = ""
    user: str = ""
    values: Mapping[str, float] = field(default_factory=dict)


def bin_of(what: str, milliseconds: float) -> str:
    """The name under which a time is counted."""
    place = 0 if milliseconds <= FIRST_MS else math.ceil(math.log(milliseconds / FIRST_MS, FACTOR))
    return f"{what}:{place}"


def percentiles(what: str, figures: Iterable[HourFigure]) -> dict[str, float]:
    """p50, p95 and p99 in ms, each the upper end of its bin; empty where no time was counted."""
    counts: defaultdict[int, int] = defaultdict(int)
    for one in figures:
        if one.what.startswith(f"{what}:"):
            counts[int(one.what.partition(":")[2])] += one.count
    total, found, passed = sum(counts.values()), {}, 0
    for place in sorted(counts):
        passed += counts[place]
        for name, share in _PERCENTILES:
            if name not in found and passed >= share * total - 1e-9:
                found[name] = FIRST_MS * FACTOR**place
    return found


def accuracy(figures: Iterable[HourFigure]) -> list[Row]:
    """By hour and skill: thumbs up and down, accuracy (share of thumbs up) and mean reward (-1..1)."""
    thumbs: defaultdict[tuple[int, str], dict[str, float]] = defaultdict(lambda: {POSITIVE: 0.0, NEGATIVE: 0.0})
    for one in figures:
        if one.what in (POSITIVE, NEGATIVE):
            thumbs[one.hour_us, one.skill_id][one.what] += one.count
    return [Row(hour, skill, values=_judged(counts)) for (hour, skill), counts in sorted(thumbs.items())]


def slow_skills(figures: Iterable[HourFigure]) -> list[Row]:
    """By skill, the slowest first: selections, mean and largest time of selection in ms."""
    counts: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for one in figures:
        if one.what == SELECTION_MS:
            kept = counts[one.skill_id]
            kept[0], kept[1], kept[2] = kept[0] + one.count, kept[1] + one.total, max(kept[2], one.largest)
    rows = [
        Row(skill_id=skill, values={"selections": count, "mean_ms": total / count, "largest_ms": largest})
        for skill, (count, total, largest) in counts.items()
    ]
    return sorted(rows, key=lambda row: (-row.values["mean_ms"], row.skill_id))


def exploration(figures: Iterable[HourFigure]) -> list[Row]:
    """By hour: selections that explored and that did not, and the accuracy of both where thumbs tell."""
    hours: defaultdict[int, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for one in figures:
        hours[one.hour_us][one.what] += one.count
    rows = []
    for hour, counts in sorted(hours.items()):
        explored, exploited = counts[EXPLORED], counts[SELECTED]
        if not explored + exploited + counts[POSITIVE] + counts[NEGATIVE]:
            continue
        values = {"explored": explored, "exploited": exploited}
        if explored + exploited:
            values["exploration_share"] = explored / (explored + exploited)
        up, down = counts[EXPLORED_POSITIVE], counts[EXPLORED_NEGATIVE]
        if up + down:
            values["exploration_accuracy"] = up / (up + down)
        up, down = counts[POSITIVE] - up, counts[NEGATIVE] - down
        if up + down:
            values["exploitation_accuracy"] = up / (up + down)
        rows.append(Row(hour, values=values))
    return rows


def adaptation(rewards: Sequence[int], window: int, goal: float) -> dict[str, float]:
    """One person's thumbs in their order: how many, the share of thumbs up among the first and the last `window`, and the
    first thumb from which that share stays at `goal` or above (left out where it does not)."""
    ups = [float(reward > 0) for reward in rewards if reward]
    values = {"thumbs": float(len(ups))}
    if not ups:
        return values
    values["first_accuracy"] = sum(ups[:window]) / len(ups[:window])
    values["last_accuracy"] = sum(ups[-window:]) / len(ups[-window:])
    if len(ups) < window:
        return values
    moving = [sum(ups[at : at + window]) / window for at in range(len(ups) - window + 1)]
    below = max((at for at, share in enumerate(moving) if share < goal), default=-1)
    if below + 1 < len(moving):
        values["adapted_after"] = float(below + 1 + window)
    return values


def aggregate(
    figures: Iterable[HourFigure], adapted_after: Sequence[float], active: frozenset[str], before: frozenset[str]
) -> Row:
    """Over all skills: accuracy and mean reward, median adaptation speed (thumbs), retention.

    Retention is the share of the people `before` who are `active` again; both may be empty, and then it is left out.
    """
    thumbs = {POSITIVE: 0.0, NEGATIVE: 0.0}
    selections = 0.0
    for one in figures:
        if one.what in thumbs:
            thumbs[one.what] += one.count
        elif one.what in (SELECTED, EXPLORED):
            selections += one.count
    values = {"selections": selections, "people": float(len(active)), **_judged(thumbs)}
    if adapted_after:
        ordered = sorted(adapted_after)
        values["adaptation_speed"] = ordered[len(ordered) // 2]
    if before:
        values["retention"] = len(active & before) / len(before)
    return Row(values=values)


def batches(figures: Iterable[HourFigure]) -> list[Row]:
    """By hour: what the nightly batches learned from, and how long they took."""
    hours: defaultdict[int, dict[str, float]] = defaultdict(dict)
    for one in figures:
        if one.what in BATCH:
            hours[one.hour_us][one.what.removeprefix("batch_")] = one.total
    return [Row(hour, values=values) for hour, values in sorted(hours.items())]


def _judged(counts: Mapping[str, float]) -> dict[str, float]:
    up, down = counts[POSITIVE], counts[NEGATIVE]
    values = {"positive": up, "negative": down}
    if up + down:
        values["accuracy"] = up / (up + down)
        values["mean_reward"] = (up - down) / (up + down)
    return values

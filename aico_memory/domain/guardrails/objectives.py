"""How well a set of rules does on recorded sessions, in several respects at once, and when another may take its place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from types import MappingProxyType
from typing import Final, NamedTuple

Counts = Mapping[str, float]
# Names of what is counted: kinds, tiers, skills, actions.
Distributions = Mapping[str, Counts]
SAME: Final = 1.0
# Decisions that are kept in words.
SAMPLES: Final = 10


@dataclass(frozen=True, slots=True)
class Score:
    """The mean over recorded cases.

    `success` and `violations` are shares (0..1). `latency` and `cost` are counted, not timed, so that a replay decides as the
    first run did: units of work, and tokens, a case.
    """

    success: float = 0.0
    latency: float = 0.0
    cost: float = 0.0
    violations: float = 0.0
    cases: int = 0


class Weights(NamedTuple):
    """What a unit of each respect counts; latency and cost as multiples of what the rules in use need."""

    success: float = 1.0
    latency: float = 0.05
    cost: float = 0.05
    violations: float = 1.0


class Limits(NamedTuple):
    """When a change may be made, and when it is taken back."""

    # Recorded cases that both were tried on.
    cases: int = 20
    # How far the weighted sum may fall below the one before.
    tolerance: float = 0.01
    # Cosine similarity below which a change of distributions is an alarm.
    drift: float = 0.5
    # How far the success that is seen afterwards may fall below the one before.
    fall: float = 0.1


@dataclass(frozen=True, slots=True)
class Trial:
    """What a holdout replay found: both sets of rules on the same cases, and what each of them did."""

    before: Score
    after: Score
    # Cases in which the proposed rules decide otherwise.
    changed: int = 0
    did_before: Distributions = field(default_factory=dict)
    did_after: Distributions = field(default_factory=dict)
    # Some of those cases in words, without anything that a person said: the log of the shadow run.
    samples: tuple[str, ...] = ()


class Seen(NamedTuple):
    """What was seen in use over a time: success (-1: unknown), over how many cases, and what was done."""

    success: float = -1.0
    cases: int = 0
    did: Distributions = MappingProxyType({})


def weighed(score: Score, before: Score, weights: Weights) -> float:
    """One number of all respects; latency and cost relative to `before`."""
    return (
        weights.success * score.success
        - weights.latency * _relative(score.latency, before.latency)
        - weights.cost * _relative(score.cost, before.cost)
        - weights.violations * score.violations
    )


def similarity(before: Counts, after: Counts) -> float:
    """Cosine of two distributions of counts (0..1); 1 where either has nothing in it: then there is nothing to compare."""
    lengths = [math.sqrt(sum(count * count for count in counts.values())) for counts in (before, after)]
    if not all(lengths):
        return SAME
    product = sum(count * after.get(name, 0.0) for name, count in before.items())
    return min(SAME, max(0.0, product / (lengths[0] * lengths[1])))


def drift(before: Distributions, after: Distributions) -> dict[str, float]:
    """The similarity of each distribution that is counted on both sides, by name."""
    return {name: similarity(before[name], after[name]) for name in sorted(set(before) & set(after))}


def alarm(similarities: Mapping[str, float], limits: Limits) -> str:
    """What has drifted too far, in words; "" where nothing has."""
    low = {name: value for name, value in similarities.items() if value < limits.drift}
    return ", ".join(f"{name} {value:.2f} (alarm below {limits.drift:g})" for name, value in sorted(low.items()))


def split(names: list[str], share: float) -> tuple[list[str], list[str]]:
    """Names for the fit and names for the replay, each sorted: about `share` of them, at least one of two, in hash order.

    The order by hash does not depend on who joins; the bound moves with the number only.
    """
    ordered = sorted(names, key=lambda name: (blake2b(name.encode(), digest_size=8).digest(), name))
    kept = min(len(ordered) - 1, max(1, round(share * len(ordered)))) if len(ordered) > 1 else 0
    return sorted(ordered[kept:]), sorted(ordered[:kept])


def _relative(value: float, before: float) -> float:
    if before > 0:
        return value / before
    return 1.0 if value <= 0 else 2.0

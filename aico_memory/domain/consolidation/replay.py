"""Prioritised experience replay: in which order a user's pending experiences go, and in which batches.

Weighted sampling without replacement, drawn whole (Efraimidis and Spirakis
2006: sort by u^(1/w)): the same law as drawing one by one from a sum tree, at
O(n log n) for any n, and every experience has its place, since sampling orders
the work and never loses it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

# Schaul et al. 2016, proportional prioritisation.
DEFAULT_ALPHA = 0.6
_DAY_US = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Experience:
    """What decides an experience's place; `importance` is a mean cosine similarity, -1 to 1."""

    event_id: bytes
    received_us: int
    importance: float = 0.0
    has_feedback: bool = False


def priority(experience: Experience, now_us: int) -> float:
    """|importance| + 1 / max(1, days) + 1 where it has feedback; always above 0.

    Days are whole ones, so that a replayed stream whose receipts differ by moments keeps its order.
    """
    days = max(0, now_us - experience.received_us) // _DAY_US
    return abs(experience.importance) + 1.0 / max(1, days) + (1.0 if experience.has_feedback else 0.0)


def replay_order(
    experiences: Iterable[Experience], now_us: int, draw: Callable[[], float], alpha: float = DEFAULT_ALPHA
) -> list[Experience]:
    """All the experiences, each once; P(next) is proportional to priority^alpha.

    `draw` gives numbers in [0, 1). The order depends on the set and the draws, not on the order of the argument.
    """
    distinct = sorted({one.event_id: one for one in experiences}.values(), key=lambda one: one.event_id)
    keyed = []
    for experience in distinct:
        weight = priority(experience, now_us) ** alpha
        # log(u) / w sorts as u^(1/w) does and does not underflow; 1 - u is in (0, 1].
        keyed.append((math.log(1.0 - draw()) / weight, experience))
    keyed.sort(key=lambda pair: (-pair[0], pair[1].event_id))
    return [experience for _, experience in keyed]


def batches(event_ids: Sequence[bytes], size: int) -> list[tuple[bytes, ...]]:
    """The ids cut into batches of `size`, the last one shorter."""
    return [tuple(event_ids[start : start + size]) for start in range(0, len(event_ids), size)]

"""Reciprocal rank fusion: several rankings into one, every list's share named.

Cormack, Clarke, Büttcher 2009: score = Σ weight / (K + rank). Here it is divided by
what an item at the top of every list would get, so that a score lies in 0..1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

RRF_K = 60


@dataclass(frozen=True, slots=True)
class Ranking:
    """One retriever's answer: ids, best first, each once."""

    name: str
    ids: Sequence[str]
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Fused:
    """An id with its score in 0..1 and what each list contributed to it."""

    id: str
    score: float
    shares: Mapping[str, float]


def fuse(rankings: Sequence[Ranking], k: int = RRF_K) -> list[Fused]:
    """All ids, best first; equal scores keep the order of the lists. Lists of weight 0 count for nothing."""
    heard = [ranking for ranking in rankings if ranking.weight > 0]
    if not heard:
        return []
    total = sum(ranking.weight for ranking in heard)
    shares: dict[str, dict[str, float]] = {}
    for ranking in heard:
        for rank, identifier in enumerate(ranking.ids, start=1):
            own = shares.setdefault(identifier, {})
            # An id that a list names twice counts where it stands first.
            own.setdefault(ranking.name, ranking.weight / total * (k + 1) / (k + rank))
    fused = [Fused(identifier, sum(own.values()), own) for identifier, own in shares.items()]
    fused.sort(key=lambda one: -one.score)
    return fused

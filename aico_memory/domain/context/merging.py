"""One ranking of what a question and its parts found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

# Reciprocal rank fusion (Cormack, Clarke, Buettcher 2009).
K = 60
# Memories with their scores 0..1, best first.
Ranked = Sequence[tuple[str, float]]


def best_scores(lists: Sequence[Ranked]) -> dict[str, float]:
    """Each with the best score that any of the lists gives it: who answers one part answers."""
    best: dict[str, float] = {}
    for ranked in lists:
        for one, score in ranked:
            best[one] = max(score, best.get(one, 0.0))
    return best


def by_ranks(lists: Sequence[Ranked]) -> dict[str, float]:
    """In the order of reciprocal rank fusion over all lists.

    A score is the chance of being right, by which later stages decide, and a sum of reciprocal ranks is none: so
    the scores stay those of `best_scores`, the first place getting the best of them.
    """
    scores = best_scores(lists)
    ranks: dict[str, float] = dict.fromkeys(scores, 0.0)
    for ranked in lists:
        for place, (one, _) in enumerate(ranked, start=1):
            ranks[one] += 1.0 / (K + place)
    order = sorted(scores, key=lambda one: (-ranks[one], -scores[one]))
    return dict(zip(order, sorted(scores.values(), reverse=True), strict=True))


def gains(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """What another order adds to each score."""
    return {one: score - before[one] for one, score in after.items()}

"""How well a ranking finds the messages that answer a question."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

CUTS = (1, 5, 10, 20)
# How far a ranking is looked at.
DEPTH = 100
_GAIN_CUT = 10


@dataclass(frozen=True, slots=True)
class Scores:
    """Of one question, or means of many. Recall: the share of the right messages in the first k."""

    questions: int
    recall_1: float
    recall_5: float
    recall_10: float
    recall_20: float
    mrr: float
    ndcg_10: float

    def rounded(self) -> dict[str, float]:
        """Plain numbers."""
        return {key: round(value, 4) for key, value in asdict(self).items()}


def score(ranked: Sequence[str], gold: Sequence[str]) -> Scores:
    """Scores of one ranking (ids, best first, each once); MRR is of the first right one within `DEPTH`."""
    wanted = set(gold)
    places = [place for place, identifier in enumerate(ranked[:DEPTH], start=1) if identifier in wanted]
    at_1, at_5, at_10, at_20 = (sum(place <= cut for place in places) / len(wanted) for cut in CUTS)
    gain = sum(1 / math.log2(place + 1) for place in places if place <= _GAIN_CUT)
    ideal = sum(1 / math.log2(place + 1) for place in range(1, min(len(wanted), _GAIN_CUT) + 1))
    return Scores(1, at_1, at_5, at_10, at_20, 1 / places[0] if places else 0.0, gain / ideal)


def mean(found: Iterable[Scores]) -> Scores:
    """Means over questions; all zero where there is none."""
    all_of_them = list(found)
    count = max(1, len(all_of_them))
    names = ("recall_1", "recall_5", "recall_10", "recall_20", "mrr", "ndcg_10")
    return Scores(len(all_of_them), *(sum(getattr(one, name) for one in all_of_them) / count for name in names))


def by_category(found: Mapping[str, Sequence[Scores]], together: Sequence[str]) -> dict[str, Scores]:
    """Means of each category, and of those in `together` under "all"."""
    result = {category: mean(scores) for category, scores in sorted(found.items())}
    result["all"] = mean(one for category in together for one in found.get(category, ()))
    return result

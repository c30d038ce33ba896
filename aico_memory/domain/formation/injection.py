"""How a message is spelled that tries to give orders to the memory: a linear rule a language, learned from many hands.

Wordings (`signals.injection`, `signals.machine`) know the tricks that somebody has written down; this one knows what such
texts have in common. A text is its runs of characters and pairs of words (`runs`), each weighed 1 + ln count over the
length of all of them; what was never seen weighs nothing and counts in the length. So a text of which little is known scores
near the mean.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from aico_memory.domain.text_regression.grams import runs

# Words of a part of a longer text, and how far on the next part begins: what is hidden in a text is as visible as alone.
PART_WORDS: Final = 60
_STEP: Final = 30


@dataclass(frozen=True, slots=True)
class InjectionRule:
    """Weights by run; a text that scores the threshold or more is taken for an attempt."""

    weights: Mapping[str, float]
    # What a text scores of which nothing is known.
    base: float
    threshold: float

    def score(self, text: str) -> float:
        """About the share of such texts that are attempts, not bounded to 0..1; of a longer text that of its worst part."""
        return max(self.base + self._weighed(part) for part in parts(text))

    def suspects(self, text: str) -> bool:
        """Whether the text is taken for an attempt."""
        return self.score(text) >= self.threshold

    def _weighed(self, part: str) -> float:
        weights = self.weights
        return sum(weights[run] * amount for run, amount in amounts(part).items() if run in weights)


def amounts(text: str) -> dict[str, float]:
    """Run -> its weight in the text; the squares of all of them add up to 1. Empty for an empty text."""
    counted = {run: 1 + math.log(times) for run, times in Counter(runs(text)).items()}
    length = math.sqrt(sum(amount**2 for amount in counted.values())) or 1.0
    return {run: amount / length for run, amount in counted.items()}


def parts(text: str) -> Iterator[str]:
    """The text, or where it is longer its overlapping parts of PART_WORDS words."""
    words = text.split()
    last = max(0, len(words) - PART_WORDS)
    for start in range(0, last + _STEP, _STEP):
        yield " ".join(words[min(start, last) : min(start, last) + PART_WORDS])
        if start >= last:
            return

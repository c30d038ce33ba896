"""Counting right answers, and what the memory behind them got wrong; and two baselines beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from aico_memory.bench.facts.streams import Asked, Stream
from aico_memory.domain.formation.fact_key import normalise_fact_key

# Texts -> how like the question each is.
Likeness = Callable[[Sequence[str]], list[float]]

# Least likeness for "latest statement".
BASELINE_LIKENESS = 0.35


@dataclass(slots=True)
class Tally:
    """Right answers among those asked, and the errors of the memory behind them."""

    asked: dict[str, int] = field(default_factory=lambda: {"now": 0, "then": 0})
    right: dict[str, dict[str, int]] = field(
        default_factory=lambda: {name: {"now": 0, "then": 0} for name in ("recall", "latest", "similar")}
    )
    # Answers that are the expected words and no other, articles aside.
    exact: dict[str, int] = field(default_factory=lambda: {"now": 0, "then": 0})
    # Statements that stand on the timeline, and those of them that were merged into another value.
    stated: int = 0
    values: int = 0
    merged: int = 0
    invalidated: int = 0
    misses: list[str] = field(default_factory=list)

    def share(self, name: str, tense: str) -> float:
        """Right answers as a share."""
        return self.right[name][tense] / max(1, self.asked[tense])

    def answered(self, stream: str, tense: str, asked: Asked, values: Sequence[str]) -> None:
        """One answer."""
        self.asked[tense] += 1
        self.right["recall"][tense] += answers(values, asked.expected)
        self.exact[tense] += answers(values, asked.expected, exact=True)
        if not answers(values, asked.expected):
            self.misses.append(f"{stream} [{tense}] {asked.question}  expected {list(asked.expected)}, got {list(values)}")

    def baselines(self, stream: Stream, tense: str, asked: Asked, as_of_us: int, likeness: Likeness) -> None:
        """The latest statement that is like the question, and the one most like it: right where it holds the value."""
        known = [said for said in stream.said if said.at_us <= as_of_us]
        scores = likeness([said.text for said in known]) if known else []
        near = [said for said, score in zip(known, scores, strict=True) if score >= BASELINE_LIKENESS]
        latest = max(near, key=lambda said: said.at_us).text if near else ""
        similar = known[int(np.argmax(scores))].text if known else ""
        for name, text in (("latest", latest), ("similar", similar)):
            self.right[name][tense] += bool(text) and len(asked.expected) == 1 and same(asked.expected[0], text, whole=False)


def tense_of(stream: Stream, asked: Asked) -> tuple[str, int]:
    """now or then, and the moment that is asked about."""
    if asked.as_of_us is None:
        return "now", stream.now_us
    return "then", asked.as_of_us


def answers(values: Sequence[str], expected: Sequence[str], exact: bool = False) -> bool:
    """Every expected value once, and nothing else; `exact`: in the same words."""
    if len(set(map(normalise_fact_key, values))) != len(expected):
        return False
    if exact:
        return sorted(map(normalise_fact_key, values)) == sorted(map(normalise_fact_key, expected))
    return all(any(same(value, one) for value in values) for one in expected)


def same(value: str, expected: str, whole: bool = True) -> bool:
    """One holds the other, word for word; `whole` refuses a value that is a sentence."""
    one, other = f" {normalise_fact_key(value)} ", f" {normalise_fact_key(expected)} "
    if whole and len(one.split()) > len(other.split()) + 4:
        return False
    return one in other or other in one

"""Choosing among the options: a small network over their clues, and the chance that each is right.

`z = w·x + v·relu(Wx + b)` for the clues x of an option, each divided by its scale; the chances are softmax(z) over the
options of a question (a conditional logit, McFadden 1974, with one hidden layer). Options of the same values count
together. The weights are learned by `scripts/train_reader.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.recall.reading.options import RULES, Option

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ReaderWeights:
    """Names of the n clues, and what each is worth."""

    names: tuple[str, ...]
    # Shape (n,): scale and direct weight of each clue.
    scale: Floats
    direct: Floats
    # Shapes (n, h), (h,), (h,).
    hidden: Floats
    bias: Floats
    out: Floats
    # Added to the rules' answer before the chances are compared.
    trust: float = 0.0
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        count, width = len(self.names), len(self.bias)
        shapes = [part.shape for part in (self.scale, self.direct, self.hidden, self.out)]
        if shapes != [(count,), (count,), (count, width), (width,)]:
            raise ValueError(f"the weights of {count} clues and {width} hidden units have the shapes {shapes}")

    def table(self, options: Sequence[Option]) -> Floats:
        """Clues of each option in the order of `names`, shape (options, n); what has no name here is left out."""
        places = {name: place for place, name in enumerate(self.names)}
        table = np.zeros((len(options), len(self.names)), dtype=np.float32)
        for row, option in enumerate(options):
            for name, value in option.clues.items():
                if (place := places.get(name)) is not None:
                    table[row, place] = value
        return table

    def scores(self, table: Floats) -> Floats:
        """z of each row, shape (options,)."""
        scaled = table / self.scale
        return np.asarray(scaled @ self.direct + np.maximum(scaled @ self.hidden + self.bias, 0.0) @ self.out, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Choice:
    """The option that is most likely right, and how likely its values are."""

    option: Option
    chance: float


def choose(options: Sequence[Option], weights: ReaderWeights) -> Choice:
    """The option whose values have the greatest chance."""
    scores = weights.scores(weights.table(options))
    place, chance = pick([option.values for option in options], [option.kind == RULES for option in options], scores, weights)
    return Choice(options[place], chance)


def pick(
    values: Sequence[Sequence[str]], ruled: Sequence[bool], scores: Floats, weights: ReaderWeights
) -> tuple[int, float]:  # fmt: skip
    """The place of the best option and the chance of its values; among options that give the same the rules' own."""
    raised = scores.astype(np.float64) + weights.trust * np.array(ruled, dtype=np.float64)
    chances = np.exp(raised - raised.max())
    chances /= chances.sum()
    keys = [frozenset(normalise_fact_key(value) for value in one) for one in values]
    together: dict[frozenset[str], float] = {}
    for key, chance in zip(keys, chances, strict=True):
        together[key] = together.get(key, 0.0) + float(chance)
    best = max(together, key=lambda key: together[key])
    same = [place for place, key in enumerate(keys) if key == best]
    return max(same, key=lambda place: (ruled[place], chances[place])), together[best]


def reader_weights(content: Mapping[str, Any]) -> ReaderWeights:
    """Weights from their file's content; ValueError, KeyError or TypeError where it is none."""
    clues: Mapping[str, Sequence[float]] = content["clues"]
    rows = np.array(list(clues.values()), dtype=np.float32)
    bias, out = (np.array(content[name], dtype=np.float32) for name in ("bias", "out"))
    if rows.ndim != 2 or rows.shape[1] != len(bias) + 2:
        raise ValueError("each clue needs a scale, a direct weight, and a weight for each hidden unit")
    return ReaderWeights(
        tuple(clues), rows[:, 0], rows[:, 1], rows[:, 2:], bias, out, float(content.get("trust", 0.0)),
        content.get("provenance") or {},
    )  # fmt: skip

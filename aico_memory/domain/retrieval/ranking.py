"""Ranking profiles: linear models over the named features, and what each feature gave to a score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np

from aico_memory.domain.retrieval.evidence import Floats
from aico_memory.domain.retrieval.features import NAMES

# Beyond this log-odds the score is 0 or 1 to six digits.
_STEEPEST = 15.0


@dataclass(frozen=True, slots=True)
class Profile:
    """Weights by feature. `score = 1 / (1 + exp(-(scale · Σ weight · feature + offset)))`, between 0 and 1.

    `scale` and `offset` are chosen so that the score is about the share of such hits that were right.
    """

    name: str
    weights: Mapping[str, float]
    scale: float = 1.0
    offset: float = 0.0
    # Where learned weights come from: data, split, date, score.
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unknown = sorted(set(self.weights) - set(NAMES))
        if unknown:
            raise ValueError(f"the ranking profile {self.name} names unknown features: {', '.join(unknown)}")

    @property
    def reads_characters(self) -> bool:
        """Whether runs of characters count; finding them takes time."""
        return any(self.weights.get(name) for name in ("characters", "character_coverage"))

    @property
    def used(self) -> frozenset[str]:
        """The features that count."""
        return frozenset(name for name, weight in self.weights.items() if weight)

    def column(self) -> Floats:
        """The weights in the order of `NAMES`."""
        return np.array([self.weights.get(name, 0.0) for name in NAMES], dtype=np.float32)

    def totals(self, features: Floats) -> Floats:
        """Σ weight · feature of each row, shape (n,)."""
        return np.asarray(features @ self.column(), dtype=np.float32)

    def weighed(self, columns: Mapping[str, Floats], rows: int) -> Floats:
        """The same of features by name, each shape (rows,); what is missing is 0."""
        total, share = np.zeros(rows, dtype=np.float32), np.empty(rows, dtype=np.float32)
        for name, weight in self.weights.items():
            if weight and name in columns:
                np.multiply(columns[name], np.float32(weight), out=share)
                total += share
        return total

    def scores(self, totals: Floats) -> Floats:
        """Between 0 and 1, in the order of the totals."""
        odds = np.clip(self.scale * totals + self.offset, -_STEEPEST, _STEEPEST)
        return np.asarray(1.0 / (1.0 + np.exp(-odds)), dtype=np.float32)

    def speaks_for(self, row: Floats) -> bool:
        """Whether any feature that counts says anything of one row."""
        return bool(np.any(self.column() * row))

    def shares(self, row: Floats) -> dict[str, float]:
        """What each feature adds to the log-odds of one row; those that add nothing are left out."""
        parts = self.scale * self.column() * row
        return {name: float(part) for name, part in zip(NAMES, parts, strict=True) if part}


def profile_of(name: str, content: Mapping[str, Any]) -> Profile:
    """A profile from its file's content; ValueError names what is wrong."""
    weights: Mapping[str, Any] = content.get("weights") or {}
    if not weights:
        raise ValueError(f"the ranking profile {name} needs `weights`")
    # YAML reads a bare date as one.
    provenance = {
        key: value.isoformat() if isinstance(value, date) else value for key, value in (content.get("provenance") or {}).items()
    }
    return Profile(
        name, {key: float(value) for key, value in weights.items()}, float(content.get("scale", 1.0)),
        float(content.get("offset", 0.0)), provenance,
    )  # fmt: skip

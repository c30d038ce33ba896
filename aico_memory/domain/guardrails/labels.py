"""What people's acts say of the system's rules: the labels that a proposal is learned from, and tried out on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReviewLabel:
    """One item that waited, and whether a person promoted it."""

    memory_id: bytes
    at_us: int
    kind: str
    confidence: float
    promoted: bool


@dataclass(frozen=True, slots=True)
class RankingLabel:
    """The rows that stood first in one answer, by their features, and which of them a person said had helped."""

    # Of the question; names its part of the split.
    label_id: str
    owner: str
    at_us: int
    # Names of the columns.
    names: tuple[str, ...]
    # One tuple a row, best first.
    rows: tuple[tuple[float, ...], ...]
    helped: tuple[int, ...]
    # Those a person said had not.
    refused: tuple[int, ...] = ()
    # Kind and tier of each row.
    kinds: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()

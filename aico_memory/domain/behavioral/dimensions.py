"""The sixteen style dimensions in which skills and preferences are compared; each runs from 0 to 1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from aico_memory.errors import InvalidMessage

DIMENSIONS: tuple[str, ...] = (
    "verbosity",
    "formality",
    "technical_depth",
    "proactivity",
    "emotional_expression",
    "structure",
    "explanation_depth",
    "example_usage",
    "question_asking",
    "reassurance_level",
    "directness",
    "enthusiasm",
    "patience",
    "creativity",
    "reserved_1",
    "reserved_2",
)
NEUTRAL_VALUE = 0.5
# Largest distance there can be between two vectors: every dimension apart by 1.
DIAMETER = math.sqrt(len(DIMENSIONS))

Vector = tuple[float, ...]
NEUTRAL: Vector = (NEUTRAL_VALUE,) * len(DIMENSIONS)


def clamp(value: float, low: float = 0.0, high: float = 1.0) -> float:
    """The value, moved to the nearer end where it lies outside [low, high]."""
    return min(high, max(low, value))


def vector_of(named: Mapping[str, float]) -> Vector:
    """The vector of named dimensions; the two reserved ones may be left out. InvalidMessage names what is wrong."""
    unknown = sorted(set(named) - set(DIMENSIONS))
    if unknown:
        raise InvalidMessage(f"Unknown style dimension {unknown[0]!r}", f"The dimensions are {', '.join(DIMENSIONS)}.")
    missing = [name for name in DIMENSIONS if name not in named and not name.startswith("reserved_")]
    if missing:
        raise InvalidMessage(f"The style dimension {missing[0]!r} is missing")
    return checked_vector([named.get(name, NEUTRAL_VALUE) for name in DIMENSIONS])


def with_style(vector: Vector, named: Mapping[str, float]) -> Vector:
    """The vector with other values of the dimensions that are named; InvalidMessage names what is wrong."""
    return vector_of(dict(zip(DIMENSIONS, vector, strict=True)) | dict(named))


def checked_vector(values: Sequence[float]) -> Vector:
    """The values as a vector; InvalidMessage unless there are sixteen, each within 0..1."""
    if len(values) != len(DIMENSIONS):
        raise InvalidMessage(f"A style vector has {len(values)} dimensions instead of {len(DIMENSIONS)}")
    for name, value in zip(DIMENSIONS, values, strict=True):
        if not 0.0 <= value <= 1.0:  # also refuses NaN
            raise InvalidMessage(f"The style dimension {name} is {value}; allowed is 0 to 1")
    return tuple(float(value) for value in values)


def named(vector: Sequence[float]) -> dict[str, float]:
    """Dimension names with their values, in their fixed order."""
    return dict(zip(DIMENSIONS, vector, strict=True))


def alignment(preference: Sequence[float], dimensions: Sequence[float]) -> float:
    """How well a skill fits a preference: 1 - Euclidean distance / sqrt(16), within 0..1."""
    return clamp(1.0 - math.dist(preference, dimensions) / DIAMETER)


def pull(preference: Sequence[float], dimensions: Sequence[float], reward: int, rate: float) -> Vector:
    """The preference drawn towards (reward 1) or pushed away from (-1) a skill: p + rate * reward * (d - p), clamped."""
    return tuple(clamp(p + rate * reward * (d - p)) for p, d in zip(preference, dimensions, strict=True))

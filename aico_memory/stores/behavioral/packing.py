"""Vectors and prior knowledge as bytes: little-endian float64, exact, so that undo gives back what stood there."""

from __future__ import annotations

import struct

from aico_memory.domain.behavioral.dimensions import DIMENSIONS, Vector
from aico_memory.domain.behavioral.learning import Knowledge, Posterior, Preference, SkillState

_VECTOR = struct.Struct(f"<{len(DIMENSIONS)}d")
# Confidence, alpha, beta; nine counters of state and preference; the preference.
_KNOWLEDGE = struct.Struct(f"<3d9q{len(DIMENSIONS)}d")


def pack_vector(vector: Vector) -> bytes:
    """16 float64."""
    return _VECTOR.pack(*vector)


def unpack_vector(data: bytes) -> Vector:
    """The vector that was packed."""
    return _VECTOR.unpack(data)


def pack_knowledge(known: Knowledge) -> bytes:
    """State, posterior and preference of one (user, skill, bucket)."""
    state, posterior, preference = known.state, known.posterior, known.preference
    return _KNOWLEDGE.pack(
        state.confidence, posterior.alpha, posterior.beta,
        state.uses, state.positive, state.negative, state.selected,
        state.explored, state.explored_positive, state.explored_negative, state.last_used_us,
        preference.updates, *preference.dimensions,
    )  # fmt: skip


def unpack_knowledge(data: bytes) -> Knowledge:
    """The knowledge that was packed."""
    confidence, alpha, beta, *rest = _KNOWLEDGE.unpack(data)
    counters, updates, dimensions = rest[:8], rest[8], tuple(rest[9:])
    return Knowledge(SkillState(confidence, *counters), Posterior(alpha, beta), Preference(dimensions, updates))

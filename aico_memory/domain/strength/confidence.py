"""Confidence: how much an item is believed when it is written, confirmed, contradicted and left alone."""

from __future__ import annotations

from typing import Final

from aico_memory.domain.kinds import days_between, policy_of
from aico_memory.domain.memory import Memory
from aico_memory.domain.strength.forgetting import tier_multiplier
from aico_memory.errors import InvalidMessage
from aico_memory.settings.memory_model import ConfidenceSettings, MemoryModelSettings

METHODS: Final = ("user_explicit", "llm_extract", "rule", "tool_result")


def base_confidence(stated: bool, figures: ConfidenceSettings) -> float:
    """0.9 for what was stated, 0.8 for what was inferred (specification 3, "Score")."""
    return figures.explicit if stated else figures.inferred


def source_weight(method: str, figures: ConfidenceSettings) -> float:
    """How far what was taken from a message in this way is trusted. Raises InvalidMessage for a method without a weight."""
    if method not in METHODS:
        raise InvalidMessage(f"{method!r} is no way to take an item from a message", f"Use one of {', '.join(METHODS)}.")
    weight: float = getattr(figures, method)
    return weight


def written_confidence(base: float, method: str, statements: int, figures: ConfidenceSettings) -> float:
    """base · source weight · (1 + 0.1·(n − 1)), at most 1, for the n-th statement of it (specification 2).

    Raises InvalidMessage for a method without a weight.
    """
    weight = source_weight(method, figures)
    return min(max(base * weight * (1 + figures.repetition * max(statements - 1, 0)), 0.0), 1.0)


def contradicted(confidence: float, figures: ConfidenceSettings) -> float:
    """What is left to the side that lost, after reconsolidation; the winner keeps its own."""
    return confidence * figures.contradiction


def decayed(confidence: float, rate_per_day: float, days: float) -> float:
    """c·(1 − rate)^days. A product over disjoint times, so once over a time equals ten times over its tenths."""
    return float(confidence * max(1 - rate_per_day, 0.0) ** max(days, 0.0))


def decay_rate(kind: str, tier: str, figures: MemoryModelSettings) -> float:
    """Share of its confidence that an unused item of this kind loses a day in this tier."""
    return policy_of(kind, figures.kinds).decay_per_day * tier_multiplier(tier, figures.forgetting)


def decayed_since(memory: Memory, applied_at_us: int, now_us: int, figures: MemoryModelSettings) -> float:
    """Confidence now, where decay was last applied at `applied_at_us` (0: never).

    Decay runs over the time since the last use or the last application,
    whichever is later, at the rate of the kind times that of the tier. The caller
    keeps `now_us` as the new time of application.
    """
    idle_since_us = max(applied_at_us, memory.last_accessed_us, memory.last_referenced_us, memory.created_at_us)
    rate = decay_rate(memory.kind, memory.tier, figures)
    return decayed(memory.confidence, rate, days_between(idle_since_us, now_us))

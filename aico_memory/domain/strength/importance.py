"""Importance: four channels and an encoding boost (specification 2, "Strength, forgetting, utility")."""

from __future__ import annotations

from typing import NamedTuple

from aico_memory.settings.memory_model import ImportanceSettings


class Channels(NamedTuple):
    """What made it stand out, each 0..1."""

    novelty: float = 0.0
    arousal: float = 0.0
    reward: float = 0.0
    attention: float = 0.0


def importance_of(channels: Channels, boost: float, figures: ImportanceSettings) -> float:
    """(0.25 novelty + 0.30 arousal + 0.25 reward + 0.20 attention) · boost, boost and result clamped."""
    boost = min(max(boost, figures.boost_lowest), figures.boost_highest)
    weights = (figures.novelty, figures.arousal, figures.reward, figures.attention)
    total = sum(weight * min(max(channel, 0.0), 1.0) for weight, channel in zip(weights, channels, strict=True))
    return min(max(total * boost, 0.0), 1.0)


def level_of(importance: float, figures: ImportanceSettings) -> str:
    """critical, high, normal or low."""
    if importance >= figures.critical:
        return "critical"
    if importance >= figures.high:
        return "high"
    return "normal" if importance >= figures.normal else "low"

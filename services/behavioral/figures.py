"""From the settings to the figures that the rules take."""

from __future__ import annotations

from aico_memory.domain.behavioral.learning import LearningFigures
from aico_memory.domain.behavioral.policy import HybridFigures
from aico_memory.domain.behavioral.trigger import TriggerWeights
from aico_memory.settings.behavioral import HybridSettings, LearningSettings, TriggerSettings


def trigger_weights(settings: TriggerSettings) -> TriggerWeights:
    """Weights of trigger matching."""
    return TriggerWeights(settings.intent, settings.time_of_day, settings.sentiment, settings.topic)


def hybrid_figures(settings: HybridSettings) -> HybridFigures:
    """Shares and exploration of the hybrid policy."""
    return HybridFigures(
        trigger_share=settings.trigger,
        posterior_share=settings.posterior,
        alignment_share=settings.alignment,
        confidence_floor=settings.confidence_floor,
        epsilon_start=settings.epsilon_start,
        epsilon_decay=settings.epsilon_decay,
        epsilon_floor=settings.epsilon_floor,
    )


def learning_figures(settings: LearningSettings) -> LearningFigures:
    """Rates, targets and clamps of the learning rules."""
    return LearningFigures(**settings.model_dump())

"""From the settings to the figures that the rules take."""

from __future__ import annotations

from aico_memory.domain.behavioral.choosing import Chooser
from aico_memory.domain.behavioral.diversity import Diversity
from aico_memory.domain.behavioral.hierarchical import HierarchicalFigures
from aico_memory.domain.behavioral.learning import LearningFigures
from aico_memory.domain.behavioral.policy import HybridFigures
from aico_memory.domain.behavioral.population import designed
from aico_memory.domain.behavioral.prior import Prior
from aico_memory.domain.behavioral.skill import Catalogue
from aico_memory.domain.behavioral.trigger import TriggerWeights
from aico_memory.settings.behavioral import (
    BehavioralSettings,
    HierarchicalSettings,
    HybridSettings,
    LearningSettings,
    TriggerSettings,
)


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
        propensity_draws=settings.propensity_draws,
    )


def hierarchical_figures(settings: BehavioralSettings) -> HierarchicalFigures:
    """Boldness of the hierarchical policy."""
    return HierarchicalFigures(
        settings.hierarchical.temperature, settings.trigger.candidates, settings.hierarchical.propensity_draws
    )


def chooser_of(settings: BehavioralSettings) -> Chooser:
    """The path from a situation to a choice."""
    trigger = settings.trigger
    bound = Diversity(**settings.diversity.model_dump())
    return Chooser(trigger_weights(trigger), trigger.threshold, trigger.candidates, bound)


def cold_prior(settings: HierarchicalSettings, catalogue: Catalogue) -> Prior:
    """What everybody starts from where no other prior is used: the base skills' own data."""
    return designed(Prior(level=settings.level, slope=settings.slope), catalogue, settings.design)


def learning_figures(settings: LearningSettings) -> LearningFigures:
    """Rates, targets and clamps of the learning rules."""
    return LearningFigures(**settings.model_dump())

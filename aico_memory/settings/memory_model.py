"""Settings of the memory model: the figures of kinds, strengths, time and graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field, model_validator

from aico_memory.settings.knowledge import KnowledgeSettings
from aico_memory.settings.section import Section


class KindSettings(Section):
    """How items of one kind fade."""

    decay_per_day: float = Field(0.0, ge=0, le=0.1, description="Share of its confidence that an unused item loses a day.")
    ttl_days: float | None = Field(None, gt=0, le=36_500, description="Days after the last confirmation; none: no end.")
    retention_days: float | None = Field(None, ge=0, le=36_500, description="Days it is kept at least; none: for good.")


def _kind(decay: float, ttl: float | None, retention: float | None) -> KindSettings:
    return KindSettings(decay_per_day=decay, ttl_days=ttl, retention_days=retention)


class KindsSettings(Section):
    """The policy table; a figure that is not given keeps the default of its kind."""

    profile: KindSettings = _kind(0, None, None)
    preference: KindSettings = _kind(0, 90, None)
    constraint: KindSettings = _kind(0, None, None)
    correction: KindSettings = _kind(0, None, None)
    entity: KindSettings = _kind(0, None, None)
    fact: KindSettings = _kind(0.005, None, 14)
    decision: KindSettings = _kind(0.02, None, 45)
    plan: KindSettings = _kind(0.05, 7, 7)
    task_state: KindSettings = _kind(0.05, 7, 7)
    episode: KindSettings = _kind(0.05, 30, 7)
    procedure: KindSettings = _kind(0.005, None, 45)
    pattern: KindSettings = _kind(0.005, None, 45)
    summary: KindSettings = _kind(0.005, None, 45)

    @model_validator(mode="before")
    @classmethod
    def _fill_from_the_kind(cls, given: Any) -> Any:
        """`fact: {ttl_days: 30}` changes that figure only."""
        if not isinstance(given, Mapping):
            return given
        filled = dict(given)
        for kind, figures in given.items():
            field = cls.model_fields.get(kind)
            if field is not None and isinstance(figures, Mapping):
                filled[kind] = {**field.default.model_dump(), **figures}
        return filled


class RetentionSettings(Section):
    """FSRS-6, storage strength, and what makes a memory last longer."""

    endangered_below: float = Field(0.7, gt=0, lt=1, description="Retrievability below which a memory is rehearsed.")
    rehearsal_factor: float = Field(1.5, ge=1, le=10, description="Factor on stability of one rehearsal.")
    rehearsals_per_cycle: int = Field(50, ge=0, le=100_000, description="Most rehearsals of a scope in one cycle.")
    rehearsal_period_hours: float = Field(20.0, gt=0, le=8760, description="A memory is rehearsed once in this time, in h.")
    flashbulb_factor: float = Field(1.5, ge=1, le=10, description="Factor on the initial stability of a flashbulb memory.")
    flashbulb_sleep_factor: float = Field(
        1.1, ge=1, le=10, description="Factor on its stability of one emotional phase of sleep."
    )
    stability_limit_days: float = Field(36_500.0, ge=1, le=1e6, description="Highest stability, in days.")
    storage_lowest: float = Field(1.0, ge=0, le=100, description="Storage strength before any retrieval.")
    storage_highest: float = Field(10.0, gt=0, le=100, description="Storage strength that is never passed.")
    storage_gain: float = Field(0.5, gt=0, le=4.5, description="Gain of the first retrieval of a memory that was all but lost.")

    @model_validator(mode="after")
    def _bounds_are_in_order(self) -> Self:
        if self.storage_lowest >= self.storage_highest:
            raise ValueError("storage_lowest must be below storage_highest")
        return self


class ImportanceSettings(Section):
    """Four channels, and the levels they make."""

    novelty: float = Field(0.25, ge=0, le=1, description="Share of the novelty channel.")
    arousal: float = Field(0.30, ge=0, le=1, description="Share of the arousal channel.")
    reward: float = Field(0.25, ge=0, le=1, description="Share of the reward channel.")
    attention: float = Field(0.20, ge=0, le=1, description="Share of the attention channel.")
    boost_lowest: float = Field(0.7, ge=0, le=1, description="Lowest encoding boost.")
    boost_highest: float = Field(1.3, ge=1, le=3, description="Highest encoding boost.")
    critical: float = Field(0.8, ge=0, le=1, description="Critical from here on.")
    high: float = Field(0.6, ge=0, le=1, description="High from here on.")
    normal: float = Field(0.4, ge=0, le=1, description="Normal from here on, low below.")

    @model_validator(mode="after")
    def _shares_and_levels_fit(self) -> Self:
        if abs(self.novelty + self.arousal + self.reward + self.attention - 1.0) > 1e-9:
            raise ValueError("the shares novelty, arousal, reward and attention must sum to 1")
        if not self.normal < self.high < self.critical:
            raise ValueError("the levels must rise: normal < high < critical")
        return self


class UtilitySettings(Section):
    """How useful a memory has been."""

    neutral: float = Field(0.5, ge=0, le=1, description="Where utility starts and where it drifts back to.")
    rate: float = Field(0.1, gt=0, le=1, description="Part of the way to 1 or 0 that one use moves it.")
    drift_per_day: float = Field(0.01, ge=0, lt=1, description="Part of the way back to neutral that it drifts a day.")


class ConfidenceSettings(Section):
    """How much an item is believed."""

    explicit: float = Field(0.9, gt=0, le=1, description="Base of what was stated.")
    inferred: float = Field(0.8, gt=0, le=1, description="Base of what was inferred.")
    user_explicit: float = Field(1.0, ge=0, le=1, description="Weight of what a person stated or wrote by hand.")
    llm_extract: float = Field(0.8, ge=0, le=1, description="Weight of what a language model extracted.")
    rule: float = Field(0.8, ge=0, le=1, description="Weight of what a rule extracted.")
    tool_result: float = Field(0.7, ge=0, le=1, description="Weight of what a tool returned.")
    repetition: float = Field(0.1, ge=0, le=1, description="What each repetition adds to the factor 1.")
    contradiction: float = Field(0.5, ge=0, le=1, description="Factor on the side that lost a contradiction.")


class ForgettingSettings(Section):
    """Moves between tiers, and strategic forgetting."""

    upkeep_hours: float = Field(
        20.0,
        gt=0,
        le=8760,
        description="Decay, drift and strengthening in sleep are applied to an item once in this time, in h.",
    )
    working_multiplier: float = Field(10.0, ge=0, le=100, description="Factor on decay in working memory.")
    episodic_multiplier: float = Field(3.0, ge=0, le=100, description="Factor on decay in the tier episodic.")
    semantic_multiplier: float = Field(1.0, ge=0, le=100, description="Factor on decay in the tier semantic.")
    dormant_multiplier: float = Field(0.0, ge=0, le=100, description="Factor on decay in the tier dormant.")
    promote_accesses: int = Field(3, ge=1, le=10_000, description="Accesses that promote an episodic item.")
    promote_utility: float = Field(0.7, ge=0, le=1, description="Utility that promotes an episodic item of promote_days.")
    promote_days: float = Field(7.0, ge=0, le=3650, description="Age from which utility promotes, in days.")
    promote_siblings: int = Field(3, ge=2, le=1000, description="Episodic items that share an entity and are promoted for it.")
    demote_days: float = Field(60.0, gt=0, le=3650, description="Days unused after which a semantic item may go dormant.")
    demote_utility: float = Field(0.2, ge=0, le=1, description="Utility below which it then does.")
    useless_utility: float = Field(0.15, ge=0, le=1, description="Utility below which an unused item is forgotten.")
    useless_days: float = Field(30.0, gt=0, le=3650, description="Days unused after which it is.")
    record_days: float | None = Field(
        365.0, gt=0, le=36_500,
        description="Days after its receipt and last retrieval from which a record rests: found with a penalty. none: never.",
    )  # fmt: skip
    spared_days: float = Field(
        7.0, ge=0, le=3650,
        description="Days since it was last said, referred to or woken in which it is no duplicate and makes no room.",
    )  # fmt: skip
    duplicate_cosine: float = Field(0.9, gt=0, le=1, description="Similarity above which the less useful of two is forgotten.")
    active_limit: int = Field(500, ge=1, le=1_000_000, description="Active items of a scope above which the least useful go.")
    active_target: int = Field(450, ge=1, le=1_000_000, description="How many are left then.")

    @model_validator(mode="after")
    def _target_is_below_limit(self) -> Self:
        if self.active_target > self.active_limit:
            raise ValueError("active_target must not be above active_limit")
        return self


class EvolutionSettings(Section):
    """How change over time is kept and read."""

    looked_at: int = Field(
        20_000, ge=10, le=10_000_000,
        description="Items (or edges) of the scopes that a question about time looks at; one that would need more is refused.",
    )  # fmt: skip
    kept_days: float = Field(365.0, gt=0, le=36_500, description="Days that evolution records are kept.")
    trend_points: int = Field(3, ge=3, le=10_000, description="Fewest values that have a trend.")
    change_significance: float = Field(0.05, gt=0, lt=0.5, description="p-value below which a change point is reported.")
    change_segment: int = Field(5, ge=4, le=10_000, description="Fewest values on each side of a change point.")
    prediction_points: int = Field(5, ge=3, le=10_000, description="Fewest values that allow a prediction.")
    prediction_coverage: float = Field(0.9, gt=0, lt=1, description="Share of futures that the interval is to contain.")
    prediction_horizon: float = Field(
        1.0, gt=0, le=10, description="How far ahead is predicted, in lengths of the time that was observed."
    )


class GraphSettings(Section):
    """Relations between items, and entities."""

    same_entity_shared: int = Field(2, ge=1, le=8, description="Shared entities that make same_entity.")
    same_entity_confidence: float = Field(0.7, ge=0, le=1, description="Confidence of that relation.")
    elaborates_overlap: float = Field(0.30, ge=0, lt=1, description="Overlap of words above which one elaborates the other.")
    elaborates_confidence: float = Field(0.5, ge=0, le=1, description="Confidence of that relation.")
    related_overlap: float = Field(0.15, ge=0, lt=1, description="Overlap of words above which items of a kind are related.")
    related_confidence: float = Field(0.4, ge=0, le=1, description="Confidence of that relation.")
    prune_from: int = Field(1000, ge=1, le=10_000_000, description="Relations of a scope at which pruning starts.")
    prune_to: int = Field(900, ge=0, le=10_000_000, description="How many are left then.")
    name_similarity: float = Field(0.85, gt=0, le=1, description="Similarity of names from which two entities are one.")

    @model_validator(mode="after")
    def _pruning_shrinks(self) -> Self:
        if self.prune_to >= self.prune_from:
            raise ValueError("prune_to must be below prune_from")
        return self


class MemoryModelSettings(Section):
    """`memory_model` in config/memory.yaml."""

    kinds: KindsSettings = Field(default_factory=KindsSettings)
    retention: RetentionSettings = Field(default_factory=RetentionSettings)
    importance: ImportanceSettings = Field(default_factory=ImportanceSettings)
    utility: UtilitySettings = Field(default_factory=UtilitySettings)
    confidence: ConfidenceSettings = Field(default_factory=ConfidenceSettings)
    forgetting: ForgettingSettings = Field(default_factory=ForgettingSettings)
    evolution: EvolutionSettings = Field(default_factory=EvolutionSettings)
    graph: GraphSettings = Field(default_factory=GraphSettings)
    knowledge: KnowledgeSettings = Field(default_factory=KnowledgeSettings)

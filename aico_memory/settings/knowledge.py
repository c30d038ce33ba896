"""Settings of what sleep makes of many items: clusters, summaries, patterns, what is merged and what falls away."""

from __future__ import annotations

from pydantic import Field

from aico_memory.settings.section import Section


class KnowledgeSettings(Section):
    """Figures of the phases clusters, themes, redundancy, abstraction, kinds, variants and index."""

    cluster_items: int = Field(500, ge=3, le=10_000, description="Items of a scope that are clustered together at most.")
    cluster_members: int = Field(3, ge=2, le=1000, description="Fewest items that make a cluster.")
    cluster_importance: float = Field(
        0.3,
        ge=0,
        le=1,
        description="Difference of importance up to which items of one kind may be clustered without an entity.",
    )
    cluster_similarity: float = Field(
        0.45, ge=0, le=1, description="Cosine with the oldest of such a cluster from which an item belongs to it."
    )
    cluster_overlap: float = Field(
        0.15, ge=0, le=1, description="Shared words, as a part of all, from which it does where an item has no vector."
    )
    theme_importance: float = Field(0.8, ge=0, le=1, description="Importance of a summary.")
    theme_sentences: int = Field(12, ge=1, le=100, description="Sentences of a summary at most.")
    theme_characters: int = Field(800, ge=100, le=10_000, description="Characters of a summary at most.")
    theme_step: int = Field(4, ge=1, le=1000, description="Summaries that one step writes at most; what comes behind it waits.")
    covered_days: float = Field(
        7.0, ge=0, le=3650, description="Days that an item stands beside a summary that holds all it says before it gives way."
    )
    pattern_importance: float = Field(0.85, ge=0, le=1, description="Importance of a pattern.")
    pattern_clusters: int = Field(3, ge=1, le=100, description="Largest clusters in which patterns are looked for.")
    pattern_days: int = Field(3, ge=2, le=365, description="Days on which something must have been spoken of to be a habit.")
    pattern_weekday: float = Field(
        0.6, gt=0, le=1, description="Share of these days on one weekday from which the habit is told of that weekday."
    )
    pattern_sources: int = Field(12, ge=3, le=100, description="Items that a pattern is tied to at most.")
    kind_items: int = Field(10, ge=3, le=1000, description="Items of a kind in a scope that have a summary of their kind.")
    kind_seconds: float = Field(60.0, ge=0, le=86_400, description="A summary of a kind is renewed once in this time, in s.")
    redundancy_cosine: float = Field(0.9, gt=0, le=1, description="Cosine above which two items are looked at as one.")
    variant_confidence: float = Field(0.3, ge=0, le=1, description="Confidence below which an old variant is given up.")
    variant_days: float = Field(90.0, ge=0, le=3650, description="Age from which it is, in days.")
    model_calls: int = Field(5, ge=0, le=1000, description="Summaries that a language model is asked for in one cycle.")

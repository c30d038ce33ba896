"""Settings of outcomes and profiles, a part of the behavioral section."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from aico_memory.settings.section import Section


class ProfileSettings(Section):
    """How a profile is worked out of outcomes."""

    medium: int = Field(5, ge=1, le=10_000, description="Decided suggestions from which an acceptance is of medium confidence.")
    high: int = Field(20, ge=1, le=100_000, description="Decided suggestions from which it is of high confidence.")
    fast_rate: float = Field(0.3, gt=0, le=1, description="Weight of the latest answer in the recent mean.")
    slow_rate: float = Field(0.05, gt=0, le=1, description="Weight of the latest answer in the long mean.")
    margin: float = Field(0.15, ge=0, le=1, description="Recent and long mean this far apart are a trend.")
    least: int = Field(8, ge=2, le=10_000, description="Suggestions below which a trend is unknown.")


class AdviceSettings(Section):
    """The check before a suggestion."""

    cooldown_days: int = Field(30, ge=0, le=3650, description="A rejected value is not suggested again for so many days.")
    least: int = Field(3, ge=1, le=1000, description="Decided suggestions of a type below which its rate says nothing.")
    reluctant_rate: float = Field(0.3, ge=0, le=1, description="At or below this rate of acceptance: caution.")
    ignored: int = Field(3, ge=1, le=100, description="So many suggestions of a type unanswered in a row: caution.")
    similarity: float = Field(0.6, ge=0, le=1, description="Cosine from which another past suggestion is similar.")
    similar: int = Field(3, ge=0, le=50, description="Similar past outcomes that are shown.")
    similar_rejected: float = Field(
        0.75, gt=0, le=1, description="Share of rejected ones among at least two similar from which they are a warning."
    )


class OutcomeSettings(Section):
    """`behavioral.outcomes` in config/memory.yaml."""

    profile: ProfileSettings = Field(default_factory=ProfileSettings)
    advice: AdviceSettings = Field(default_factory=AdviceSettings)
    types: int = Field(200, ge=1, le=10_000, description="Most types of suggestions of a user; another one is refused.")
    compact_after: int = Field(
        100, ge=1, le=100_000, description="Whole outcomes of a user beyond which old ones are compacted at once."
    )
    compact_bytes: int = Field(
        262_144, ge=1000, description="Stored bytes of a user's whole outcomes beyond which old ones are compacted at once."
    )
    keep_days: int = Field(30, ge=0, le=3650, description="Outcomes younger than so many days stay whole.")
    open_days: int = Field(14, ge=1, le=3650, description="Days after which a suggestion without an answer has expired.")
    semantic_weight: float = Field(0.7, ge=0, le=1, description="Share of likeness by embedding in a search.")
    words_weight: float = Field(0.3, ge=0, le=1, description="Share of BM25 in a search.")
    top_k: int = Field(20, ge=1, le=1000, description="Outcomes shown where the question names no number.")
    snippet_characters: int = Field(80, ge=0, le=1000, description="Characters of the reason in a line of layer 1.")
    timeline_characters: int = Field(240, ge=10, le=10_000, description="Characters of reason and states each in layer 2.")
    neighbours: int = Field(1, ge=0, le=20, description="Outcomes shown before and after one in layer 2.")
    embed_wait_ms: int = Field(300, ge=10, le=60_000, description="Wait for a question's embedding; then words alone decide.")
    embed_batch: int = Field(32, ge=1, le=256, description="Outcomes embedded in one request.")
    embed_seconds: float = Field(30.0, ge=1, le=600, description="Longest wait for the embeddings of a batch.")
    embed_retry_seconds: float = Field(2.0, ge=0.1, le=600, description="Wait after the model did not answer.")
    embed_characters: int = Field(2000, ge=100, le=20_000, description="Characters of an outcome that are embedded.")
    k: int = Field(5, ge=2, le=1000, description="Fewest people behind an insight.")
    insight_least: int = Field(3, ge=1, le=1000, description="Decided suggestions of a type with which a person counts there.")
    insight_step: float = Field(0.05, gt=0, le=0.5, description="Rates of insights are rounded to this step.")

    @model_validator(mode="after")
    def _shares_are_a_whole(self) -> Self:
        if abs(self.semantic_weight + self.words_weight - 1.0) > 1e-9:
            raise ValueError("semantic_weight and words_weight must sum to 1")
        return self

"""Settings of the guardrails section."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from aico_memory.settings.section import Section

Mode = Literal["off", "propose", "auto"]


class ScoreWeights(Section):
    """What counts how much when two sets of rules are compared on recorded sessions."""

    success: float = Field(1.0, ge=0, le=100, description="A share of cases that went well.")
    latency: float = Field(0.05, ge=0, le=100, description="Work a case, as a multiple of what the rules in use need.")
    cost: float = Field(0.05, ge=0, le=100, description="Tokens a case, as a multiple of what the rules in use need.")
    violations: float = Field(1.0, ge=0, le=100, description="A share of cases that broke a rule of safety.")


class GuardrailSettings(Section):
    """`guardrails` in config/memory.yaml: how the system may change its own rules."""

    behavioral_prior: Mode = Field("auto", description="off: never; propose: a person approves; auto: applied when it passes.")
    ranking_profile: Mode = Field("propose", description="The same for the ranking profile `default`.")
    write_policy: Mode = Field("propose", description="The same for the write policy that holds for everybody.")
    holdout: float = Field(0.25, gt=0, lt=1, description="Share of recorded sessions that is never fitted on.")
    cases: int = Field(5, ge=1, le=100_000, description="Recorded cases a trial needs at least.")
    watched_cases: int = Field(50, ge=1, le=1_000_000, description="Cases since a change before it is judged by them.")
    tolerance: float = Field(0.01, ge=0, le=1, description="How far the weighted score may fall on recorded sessions.")
    fall: float = Field(0.1, ge=0, le=1, description="Fall of the success that is seen in use at which a change is taken back.")
    drift: float = Field(
        0.5, ge=0, le=1, description="Cosine similarity of what is done before and after, below which an alarm sounds."
    )
    window_days: int = Field(14, ge=1, le=365, description="Days before a change that it is compared with.")
    hold_days: int = Field(7, ge=0, le=365, description="Days after a rollback without a change of its kind.")
    labels: int = Field(40, ge=1, le=100_000, description="Labelled questions, or reviews, without which nothing is proposed.")
    kept: int = Field(200, ge=10, le=100_000, description="Entries of the ledger that are kept of a subject.")
    weights: ScoreWeights = Field(default_factory=ScoreWeights)

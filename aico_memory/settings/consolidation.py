"""Settings of the consolidation section."""

from __future__ import annotations

from pydantic import Field

from aico_memory.settings.section import Section


class ConsolidationSettings(Section):
    """`consolidation` in config/memory.yaml."""

    users_at_once: int = Field(default=4, ge=1, le=64, description="At most so many users are consolidated at a time.")
    batch_size: int = Field(default=100, ge=1, le=1000, description="Experiences in the first batch of a replay.")
    batch_seconds: float = Field(
        default=2.0,
        gt=0,
        le=600,
        description="So long a batch should take: the next one is made larger or smaller, in seconds.",
    )
    batch_least: int = Field(default=10, ge=1, le=1000, description="No batch is made smaller than this for being slow.")
    batch_most: int = Field(default=500, ge=1, le=1000, description="No batch is made larger than this for being fast.")
    alpha: float = Field(default=0.6, ge=0, le=4, description="Exponent of prioritised replay; 0 draws uniformly.")
    budget_seconds: int = Field(
        default=3600, ge=1, le=86_400, description="A run ends after so long by the deployment's clock, in seconds."
    )
    page_size: int = Field(default=500, ge=1, le=5000, description="Experiences or users asked for at a time.")
    request_seconds: float = Field(
        default=5.0, gt=0, le=60, description="Deadline of a question to working memory, in seconds."
    )
    retry_seconds: float = Field(default=1.0, gt=0, le=60, description="Pause before a question is asked again, in seconds.")
    importance_questions: int = Field(
        default=10,
        ge=0,
        le=1000,
        description="What resembles so many of the user's last questions is replayed first; 0: all alike.",
    )
    active_experiences: int = Field(
        default=200, ge=0, le=1_000_000,
        description="So many pending experiences make a user's night a full one, whatever the day; 0: never.",
    )  # fmt: skip
    settle_seconds: float = Field(
        default=60.0, ge=0, le=3600,
        description="A run waits at most so long until what was said before has its vectors, in seconds.",
    )  # fmt: skip
    ask_times: int = Field(
        default=30,
        ge=1,
        le=1000,
        description="A question that a run can do without is asked so often before it goes on without.",
    )
    samples: int = Field(default=5, ge=0, le=100, description="Explained decisions in a report, of each phase.")
    estimate_runs: int = Field(default=20, ge=1, le=1000, description="Estimates are reckoned from so many earlier runs.")
    guessed_seconds_per_experience: float = Field(
        default=0.02, gt=0, le=60, description="Before there was any run: replay takes so long an experience, in seconds."
    )
    guessed_seconds_per_item: float = Field(
        default=0.0005, gt=0, le=60, description="Before there was any run: a phase takes so long an item, in seconds."
    )
    history_days: int = Field(default=365, ge=1, le=3650, description="Ended runs are kept this long, in days.")

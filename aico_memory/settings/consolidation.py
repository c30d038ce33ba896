"""Settings of the consolidation section."""

from __future__ import annotations

from pydantic import Field

from aico_memory.settings.section import Section


class ConsolidationSettings(Section):
    """`consolidation` in config/memory.yaml."""

    users_at_once: int = Field(default=4, ge=1, le=64, description="At most so many users are consolidated at a time.")
    batch_size: int = Field(default=100, ge=1, le=1000, description="Experiences in one batch of replay.")
    alpha: float = Field(default=0.6, ge=0, le=4, description="Exponent of prioritised replay; 0 draws uniformly.")
    budget_seconds: int = Field(
        default=3600, ge=1, le=86_400, description="A run ends after so long by the deployment's clock, in seconds."
    )
    page_size: int = Field(default=500, ge=1, le=5000, description="Experiences or users asked for at a time.")
    request_seconds: float = Field(
        default=5.0, gt=0, le=60, description="Deadline of a question to working memory, in seconds."
    )
    retry_seconds: float = Field(default=1.0, gt=0, le=60, description="Pause before a question is asked again, in seconds.")
    history_days: int = Field(default=365, ge=1, le=3650, description="Ended runs are kept this long, in days.")

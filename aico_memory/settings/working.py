"""Settings of the working section."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from aico_memory.settings.section import Section


class WorkingSettings(Section):
    """`working` in config/memory.yaml."""

    time_to_live_hours: float = Field(
        default=24.0, ge=0.01, le=24 * 365, description="An acknowledged experience stays so many hours after its receipt."
    )
    hard_cap_hours: float = Field(
        default=14 * 24.0, ge=0.01, le=24 * 3650,
        description="An experience that nobody has acknowledged goes after so many hours; counted and reported.",
    )  # fmt: skip
    buffer_items: int = Field(default=9, ge=1, le=100, description="Items that a session holds in mind.")
    buffer_fading_minutes: float = Field(
        default=30.0, gt=0, le=24 * 60, description="Minutes in which an item's attention falls to 1/e."
    )
    buffer_characters: int = Field(default=2000, ge=1, le=1_000_000, description="Characters kept of an item in mind.")
    buffer_idle_hours: float = Field(
        default=24.0, ge=0.01, le=24 * 365, description="A buffer untouched for so long is cleared without a session's end."
    )
    promotion_accesses: int = Field(default=2, ge=1, le=1000, description="Accesses that make an item a promotion candidate.")
    promotion_importance: float = Field(default=0.6, ge=0, le=1, description="Importance that makes one.")
    read_default: int = Field(default=100, ge=1, le=10_000, description="Messages in an answer to a question without limit.")
    read_limit: int = Field(default=10_000, ge=1, le=1_000_000, description="Most messages in one answer.")
    page_bytes: int = Field(
        default=768 * 1024, ge=1024, le=16 * 1024 * 1024, description="Bytes at which an answer is cut; it says that it was."
    )
    map_bytes: int = Field(
        default=64 * 1024 * 1024, ge=1 << 20, le=1 << 42, description="First size of the store's map; it doubles when it fills."
    )

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.hard_cap_hours < self.time_to_live_hours:
            raise ValueError("working.hard_cap_hours must not be below working.time_to_live_hours")
        return self

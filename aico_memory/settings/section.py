"""What every settings section shares."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """Frozen, and strict about unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)

"""Settings of the scheduler section; the jobs themselves stand in config/schedule.yaml."""

from __future__ import annotations

from pydantic import Field

from aico_memory.settings.section import Section


class SchedulerSettings(Section):
    """`scheduler` in config/memory.yaml."""

    misfire_grace_seconds: int = Field(
        default=300, ge=0, le=86_400, description="A job with the policy `skip` still fires this late, in seconds."
    )
    idle_cpu_percent: float = Field(
        default=20.0, gt=0, le=100, description="Below this load of the whole machine a sample counts as quiet, in percent."
    )
    idle_seconds: int = Field(
        default=300, ge=1, le=86_400, description="So long there must be quiet and no message before the machine is idle."
    )
    idle_sample_seconds: int = Field(default=60, ge=1, le=3600, description="The load is looked at this often, in seconds.")
    history_days: int = Field(default=365, ge=1, le=3650, description="Ended firings are kept this long, in days.")

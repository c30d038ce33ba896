"""Settings of the scheduler section."""

from __future__ import annotations

from aico_memory.settings.section import Section


class SchedulerSettings(Section):
    """`scheduler` in config/memory.yaml."""

"""Settings of the behavioral section."""

from __future__ import annotations

from aico_memory.settings.section import Section


class BehavioralSettings(Section):
    """`behavioral` in config/memory.yaml."""

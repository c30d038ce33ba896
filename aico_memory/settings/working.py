"""Settings of the working section."""

from __future__ import annotations

from aico_memory.settings.section import Section


class WorkingSettings(Section):
    """`working` in config/memory.yaml."""

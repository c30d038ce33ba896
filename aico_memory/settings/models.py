"""Settings of the models section."""

from __future__ import annotations

from aico_memory.settings.section import Section


class ModelSettings(Section):
    """`models` in config/memory.yaml."""

"""Settings of the consolidation section."""

from __future__ import annotations

from aico_memory.settings.section import Section


class ConsolidationSettings(Section):
    """`consolidation` in config/memory.yaml."""

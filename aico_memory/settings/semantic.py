"""Settings of the semantic section."""

from __future__ import annotations

from aico_memory.settings.section import Section


class SemanticSettings(Section):
    """`semantic` in config/memory.yaml."""

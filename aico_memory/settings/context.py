"""Settings of the context section."""

from __future__ import annotations

from aico_memory.settings.section import Section


class ContextSettings(Section):
    """`context` in config/memory.yaml."""

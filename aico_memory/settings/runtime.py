"""Settings of the runtime section."""

from __future__ import annotations

from aico_memory.settings.section import Section


class RuntimeSettings(Section):
    """`runtime` in config/memory.yaml."""

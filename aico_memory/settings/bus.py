"""Settings of the bus section."""

from __future__ import annotations

from aico_memory.settings.section import Section


class BusSettings(Section):
    """`bus` in config/memory.yaml."""

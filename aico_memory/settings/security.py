"""Settings of the security section."""

from __future__ import annotations

from aico_memory.settings.section import Section


class SecuritySettings(Section):
    """`security` in config/memory.yaml."""

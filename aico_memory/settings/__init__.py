"""Settings: every figure, validated at start; an unknown key stops the start with its path."""

from aico_memory.settings.load import load_settings
from aico_memory.settings.root import Settings

__all__ = ["Settings", "load_settings"]

"""AICO Memory: an Adaptive Memory System on an authenticated, durable message bus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aico_memory.client import AsyncMemoryClient, MemoryClient

__version__ = "0.1.0"
__all__ = ["AsyncMemoryClient", "MemoryClient", "__version__"]


def __getattr__(name: str) -> Any:
    """The clients are loaded when they are asked for: every process imports this package, few need them."""
    if name in ("AsyncMemoryClient", "MemoryClient"):
        import aico_memory.client

        return getattr(aico_memory.client, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

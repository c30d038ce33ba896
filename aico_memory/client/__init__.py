"""The client library: asynchronous core, synchronous face."""

from aico_memory.client.asynchronous import AsyncMemoryClient
from aico_memory.client.stream import EventStream
from aico_memory.client.synchronous import Events, MemoryClient

__all__ = ["AsyncMemoryClient", "EventStream", "Events", "MemoryClient"]

"""The asynchronous client."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Generator
from types import TracebackType
from typing import Any

from aico_memory.client.behavior_verbs import BehaviorVerbs
from aico_memory.client.context_verbs import ContextVerbs
from aico_memory.client.fact_verbs import FactVerbs
from aico_memory.client.graph_verbs import GraphVerbs
from aico_memory.client.guard_verbs import GuardVerbs
from aico_memory.client.memory_verbs import MemoryVerbs
from aico_memory.client.operation_verbs import OperationVerbs
from aico_memory.client.session import Session
from aico_memory.client.sleep_verbs import SleepVerbs
from aico_memory.client.time_verbs import TimeVerbs
from aico_memory.client.tool_verbs import ToolVerbs
from aico_memory.paths import find_home

AnyHome = str | os.PathLike[str] | None


class AsyncMemoryClient(
    MemoryVerbs, ContextVerbs, FactVerbs, TimeVerbs, GraphVerbs, BehaviorVerbs, ToolVerbs, GuardVerbs, SleepVerbs,
    OperationVerbs,
):  # fmt: skip
    """A client of one home as one identity: `async with AsyncMemoryClient.connect() as client`.

    It connects again by itself and sends what was not acknowledged again under the same ids. It belongs to
    the process that opened it.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._owners = {}

    @classmethod
    def connect(cls, home: AnyHome = None, identity: str = "default", spool: bool = False) -> Connecting:
        """Connect to the bus of a home (default: AICO_MEMORY_HOME, else the platform's data folder).

        Await it, or use it with `async with`. Raises within two seconds: BusUnavailable where nothing answers,
        NotAuthorised for an unknown or revoked key, VersionMismatch.

        With `spool`, messages that are added while the bus is away are kept on disk (sealed) and published in
        their order under their ids as soon as it is there and has room; then connecting does not need the bus either. What
        the bus then refuses for good is set aside in the home, which `aico-memory doctor` names.
        """
        return Connecting(home, identity, spool)

    @property
    def identity(self) -> str:
        """Who this client is to the bus."""
        return self._session.link.identity

    @property
    def connected(self) -> bool:
        """Whether the bus answers at this moment; if not, the client goes on trying."""
        return self._session.link.connected

    async def close(self) -> None:
        """Wait (bounded) for what is on its way, then close."""
        await asyncio.to_thread(self._session.close)

    async def __aenter__(self) -> AsyncMemoryClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class Connecting:
    """A connection that is about to be made: await it, or enter it."""

    def __init__(self, home: AnyHome, identity: str, spool: bool) -> None:
        self._spool = spool
        self._home = find_home(home)
        self._identity = identity
        self._client: AsyncMemoryClient | None = None

    def __await__(self) -> Generator[Any, None, AsyncMemoryClient]:
        return self._connect().__await__()

    async def __aenter__(self) -> AsyncMemoryClient:
        self._client = await self._connect()
        return self._client

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._client is not None:
            await self._client.close()

    async def _connect(self) -> AsyncMemoryClient:
        return AsyncMemoryClient(await asyncio.to_thread(Session.open, self._home, self._identity, self._spool))

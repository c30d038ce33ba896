"""Starting one process of a deployment: a new interpreter each."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Start:
    """What is to be started; the descriptors stay the caller's."""

    module: str
    arguments: tuple[str, ...]
    # Its stdout and stderr.
    output: int
    # Where it says that it is ready; it is told as `--ready-fd`.
    ready: int


class Started(Protocol):
    """A process that was started; its exit code is that of the signal, negative, where one ended it."""

    @property
    def pid(self) -> int:
        """Its process id."""

    @property
    def returncode(self) -> int | None:
        """Its exit code; None while it lives."""

    def send_signal(self, signal: int, /) -> None:
        """ProcessLookupError where it has ended."""

    async def wait(self) -> int:
        """Until it has ended."""


class Starter(Protocol):
    """A way to start processes."""

    @property
    def server(self) -> int | None:
        """Process id of the process that forks them; None where they are not forked."""

    async def start(self, what: Start) -> Started:
        """Start one; OSError where that is not possible."""

    async def close(self) -> None:
        """No further starts; what was started lives on."""


class Spawning:
    """Starts every process as an interpreter of its own."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    @property
    def server(self) -> int | None:
        """None: nobody forks them."""
        return None

    async def start(self, what: Start) -> Started:
        """Start one; OSError where that is not possible."""
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", "aico_memory.runtime.launch", str(os.getpid()), what.module, *what.arguments,
            "--ready-fd", str(what.ready), stdin=asyncio.subprocess.DEVNULL, stdout=what.output, stderr=what.output,
            env=self._environment, pass_fds=(what.ready,), start_new_session=True,
        )  # fmt: skip

    async def close(self) -> None:
        """Nothing is kept."""

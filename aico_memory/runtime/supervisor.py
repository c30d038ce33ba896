"""The supervisor: starts a deployment in order, watches it, drains it in reverse."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from aico_memory.errors import StartFailed
from aico_memory.paths import HOME_VARIABLE, Home
from aico_memory.runtime.child import Child
from aico_memory.runtime.clocks import CLOCK_VARIABLE, SYSTEM, clock_mode, note_clock_mode
from aico_memory.runtime.deployment import ENVIRONMENT, LEVELS, HomeLock, ProcessTable
from aico_memory.runtime.first_start import prepare_home
from aico_memory.runtime.joblog import Echo, ProcessLog
from aico_memory.settings.root import Settings


class Supervisor:
    """Runs one deployment in this process's main thread until it is told to stop."""

    def __init__(
        self,
        home: Home,
        settings: Settings,
        processes: Sequence[str],
        environment: Mapping[str, str] = os.environ,
        echo: Echo | None = None,
        package: str = "services",
    ) -> None:
        self._home = home
        self._settings = settings.runtime
        self._names = tuple(processes)
        self._environment = environment
        self._echo = echo
        self._package = package
        self._all_settings = settings
        # A new start decides by its own environment, not by what the last one left behind.
        self._clock = clock_mode(home, {**environment, CLOCK_VARIABLE: environment.get(CLOCK_VARIABLE) or SYSTEM})
        self._encryption = ""
        self._since = datetime.now(UTC).isoformat(timespec="seconds")
        self._ready = False
        self.was_ready = False
        self._children: dict[str, Child] = {}
        self._lives: dict[str, asyncio.Task[None]] = {}
        self._logs: list[ProcessLog] = []
        self._moved = asyncio.Event()
        self._stop = asyncio.Event()
        self._at_once = False

    async def run(self, on_ready: Callable[[ProcessTable], None], start_seconds: float | None = None) -> None:
        """Start, call `on_ready`, and return when stopped; StartFailed with the reason where it does not get ready.

        Takes over SIGINT, SIGTERM and SIGHUP: the first drains, a second one ends everything at once.
        """
        lock = HomeLock(self._home)
        try:
            self._encryption = prepare_home(self._home, self._all_settings, self._environment)
            note_clock_mode(self._home, self._clock)
            self._take_signals()
            self._make_children()
            try:
                await asyncio.wait_for(self._start(), start_seconds or self._settings.start_timeout_seconds)
            except TimeoutError:
                mend = f"Read the logs in {self._home.logs}, allow more time with --timeout, or run `aico-memory doctor`."
                raise StartFailed(self._who_is_late(), mend) from None
            if not self._stop.is_set():
                self._ready = self.was_ready = True
                self._write_table()
                on_ready(self.table())
                await self._watch()
        finally:
            self._ready = False
            await self._stop_all()
            for log in self._logs:
                log.close()
            lock.release()

    def table(self) -> ProcessTable:
        """The deployment as it stands."""
        ready = self._ready and all(child.running for child in self._children.values())
        states = tuple(self._children[name].state for name in self._names if name in self._children)
        return ProcessTable(os.getpid(), ready, self._since, self._clock, self._encryption, states)

    def stop(self) -> None:
        """Drain; called a second time, end at once."""
        if self._stop.is_set():
            self._at_once = True
            for child in self._children.values():
                child.kill()
        self._stop.set()

    def _take_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.stop)

    def _make_children(self) -> None:
        environment = {**ENVIRONMENT, **self._environment, HOME_VARIABLE: str(self._home.root)}
        for name in self._names:
            log = ProcessLog(self._home.logs / f"{name}.log", self._settings.log_bytes, self._settings.log_files, self._echo)
            self._logs.append(log)
            (self._home.run / f"{name}.ready").unlink(missing_ok=True)
            self._children[name] = Child(
                name, f"{self._package}.{name}", self._home.root, environment, self._settings, log, self._child_moved
            )

    def _child_moved(self) -> None:
        self._write_table()
        self._moved.set()

    def _write_table(self) -> None:
        self.table().write(self._home)

    async def _start(self) -> None:
        first, rest = self._names[:1], self._names[1:]
        for group in (first, rest):
            for name in group:
                self._lives[name] = asyncio.create_task(self._children[name].run(), name=name)
            await self._until_running(group)

    async def _until_running(self, group: Sequence[str]) -> None:
        children = [self._children[name] for name in group]
        while not self._stop.is_set() and not all(child.running for child in children):
            for child in children:
                if child.failed:
                    raise StartFailed(
                        f"The process {child.name} does not start: {child.reason}",
                        f"Its log is {self._home.logs / child.name}.log; `aico-memory doctor` checks the rest.",
                    )
            self._moved.clear()
            await _first_of(self._moved.wait(), self._stop.wait())

    def _who_is_late(self) -> str:
        late = [state for state in self.table().processes if state.state != "running"]
        names = ", ".join(f"{state.name} ({state.state})" for state in late)
        reasons = "; ".join(f"{state.name}: {state.reason}" for state in late if state.reason)
        return f"Not ready in time: {names}" + (f" — {reasons}" if reasons else "")

    async def _watch(self) -> None:
        """Until told to stop, or until every process has been given up."""
        await _first_of(self._stop.wait(), asyncio.wait(list(self._lives.values())))

    async def _stop_all(self) -> None:
        self._stop.set()
        for level in reversed(LEVELS):
            await asyncio.gather(*(self._children[name].stop() for name in level if name in self._children))
        await asyncio.gather(*self._lives.values(), return_exceptions=True)
        if self._children:
            self._write_table()


async def _first_of(*waits: Coroutine[Any, Any, object]) -> None:
    tasks = [asyncio.create_task(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()

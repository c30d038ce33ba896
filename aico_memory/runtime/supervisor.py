"""The supervisor: starts a deployment in order, watches it, drains it in reverse."""

from __future__ import annotations

import asyncio
import contextlib
import gc
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
from aico_memory.runtime.forking import Forking
from aico_memory.runtime.joblog import Echo, ProcessLog
from aico_memory.runtime.kernel import adopt_orphans, give_back_memory
from aico_memory.runtime.spawning import Spawning, Starter
from aico_memory.settings.root import Settings

# Its log's name.
FORK_SERVER = "fork_server"
# The one that takes long to start: it loads the embedding model.
MODEL = "model"


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
        progressed: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._home = home
        self._settings = settings.runtime
        self._names = tuple(processes)
        self._environment = environment
        self._echo = echo
        self._package = package
        # Told in a line how the start goes on.
        self._progressed = progressed
        self._told: set[str] = set()
        self._all_settings = settings
        # A new start decides by its own environment, not by what the last one left behind.
        self._clock = clock_mode(home, {**environment, CLOCK_VARIABLE: environment.get(CLOCK_VARIABLE) or SYSTEM})
        self._encryption = ""
        self._since = datetime.now(UTC).isoformat(timespec="seconds")
        self._ready = False
        self.was_ready = False
        self._starter: Starter | None = None
        self._children: dict[str, Child] = {}
        self._lives: dict[str, asyncio.Task[None]] = {}
        self._logs: list[ProcessLog] = []
        self._moved = asyncio.Event()
        self._stop = asyncio.Event()
        self._at_once = False

    async def run(self, on_ready: Callable[[ProcessTable], None], start_seconds: float | None = None) -> None:
        """Start, call `on_ready`, and return when stopped; StartFailed with the reason where it does not get ready.

        Takes over SIGINT, SIGTERM and SIGHUP: the first drains, a second one ends everything at once; and SIGCONT, on
        which whoever was given up is started again.
        """
        lock = HomeLock(self._home)
        try:
            self._encryption = prepare_home(self._home, self._all_settings, self._environment)
            note_clock_mode(self._home, self._clock)
            self._take_signals()
            self._make_children()
            self._progressed(f"starting {', '.join(self._names)}")
            try:
                await asyncio.wait_for(self._start(), start_seconds or self._settings.start_timeout_seconds)
            except TimeoutError:
                mend = f"Read the logs in {self._home.logs}, allow more time with --timeout, or run `aico-memory doctor`."
                raise StartFailed(self._who_is_late(), mend) from None
            if not self._stop.is_set():
                self._ready = self.was_ready = True
                self._write_table()
                gc.collect()
                give_back_memory()
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
        fork_server = self._starter.server if self._starter is not None else None
        return ProcessTable(os.getpid(), ready, self._since, self._clock, self._encryption, states, fork_server)

    def stop(self) -> None:
        """Drain; called a second time, end at once."""
        if not self.was_ready and not self._stop.is_set():
            self._progressed("stopping before everything is ready; what has started drains")
        if self._stop.is_set():
            self._at_once = True
            for child in self._children.values():
                child.kill()
        self._stop.set()

    def try_again(self) -> None:
        """Start those that were given up once more."""
        if not self._ready or self._stop.is_set():
            return
        for name, child in self._children.items():
            if child.failed:
                child.forgive()
                self._lives[name] = asyncio.create_task(child.run(), name=name)

    def _take_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.stop)
        # Ignored by whoever does not hear it, such as a supervisor of an earlier version.
        loop.add_signal_handler(signal.SIGCONT, self.try_again)

    def _make_children(self) -> None:
        starter = self._starter = self._make_starter()
        for name in self._names:
            (self._home.run / f"{name}.ready").unlink(missing_ok=True)
            self._children[name] = Child(
                name, self._module(name), self._home.root, starter, self._settings, self._open_log(name), self._child_moved
            )

    def _make_starter(self) -> Starter:
        environment = {**ENVIRONMENT, **self._environment, HOME_VARIABLE: str(self._home.root)}
        if not (self._settings.fork_server and adopt_orphans()):
            return Spawning(environment)
        modules = [self._module(name) for name in self._names]
        return Forking(modules, environment, self._settings, self._open_log(FORK_SERVER), self._child_moved)

    def _module(self, name: str) -> str:
        return f"{self._package}.{name}"

    def _open_log(self, name: str) -> ProcessLog:
        log = ProcessLog(self._home.logs / f"{name}.log", self._settings.log_bytes, self._settings.log_files, self._echo)
        self._logs.append(log)
        return log

    def _child_moved(self) -> None:
        self._write_table()
        if not self.was_ready and not self._stop.is_set():
            self._tell_progress()
        self._moved.set()

    def _tell_progress(self) -> None:
        """Who is ready by now, and who is waited for."""
        ready = {name for name, child in self._children.items() if child.running}
        if fresh := sorted(ready - self._told):
            self._told |= ready
            waiting = [_waited_for(name) for name in self._names if name not in ready]
            self._progressed(f"{', '.join(fresh)} ready" + (f"; waiting for {', '.join(waiting)}" if waiting else ""))

    def _write_table(self) -> None:
        # For want of descriptors or of room on the disk no process is left unwatched: the next move writes it.
        with contextlib.suppress(OSError):
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
        while not self._stop.is_set() and (lives := [life for life in self._lives.values() if not life.done()]):
            await _first_of(self._stop.wait(), asyncio.wait(lives))

    async def _stop_all(self) -> None:
        self._stop.set()
        for level in reversed(LEVELS):
            await asyncio.gather(*(self._children[name].stop() for name in level if name in self._children))
        await asyncio.gather(*self._lives.values(), return_exceptions=True)
        if self._starter is not None:
            await self._starter.close()
        if self._children:
            self._write_table()


def _waited_for(name: str) -> str:
    return f"{name} (loading)" if name == MODEL else name


async def _first_of(*waits: Coroutine[Any, Any, object]) -> None:
    tasks = [asyncio.create_task(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()

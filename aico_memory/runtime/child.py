"""One supervised process: started, watched, started again."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic

from aico_memory.runtime.deployment import ProcessState
from aico_memory.runtime.joblog import ProcessLog
from aico_memory.runtime.restarts import HOPELESS_EXIT, RestartPolicy
from aico_memory.runtime.spawning import Start, Started, Starter
from aico_memory.settings.runtime import RuntimeSettings


class Child:
    """Keeps one process of the deployment alive until it is stopped or given up."""

    def __init__(
        self,
        name: str,
        module: str,
        home: Path,
        starter: Starter,
        settings: RuntimeSettings,
        log: ProcessLog,
        changed: Callable[[], None],
    ) -> None:
        self.name = name
        self._module = module
        self._home = home
        self._starter = starter
        self._settings = settings
        self._log = log
        self._changed = changed
        self._policy = RestartPolicy(settings)
        self._process: Started | None = None
        self._stopping = asyncio.Event()
        self._state = "stopped"
        self._since = ""
        self._restarts = 0
        self.reason = ""

    @property
    def state(self) -> ProcessState:
        pid = self._process.pid if self._process is not None and self._process.returncode is None else None
        return ProcessState(self.name, pid, self._state, self._restarts, self._since, self.reason)

    @property
    def running(self) -> bool:
        return self._state == "running"

    @property
    def failed(self) -> bool:
        return self._state == "failed"

    def forgive(self) -> None:
        """Forget what it died of: whoever was given up may be `run` again, with as many attempts as before."""
        self._policy = RestartPolicy(self._settings)
        self._set("restarting")

    async def run(self) -> None:
        """Start it, and again each time it dies or could not be started; returns when it is stopped or given up."""
        while not self._stopping.is_set():
            self._set("starting")
            wait = await self._live_once()
            if self._stopping.is_set():
                break
            if wait is None:
                self._set("failed")
                return
            self._restarts += 1
            self._set("restarting")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), wait)
        self._set("stopped")

    async def stop(self) -> None:
        """Ask it to drain; kill it where it takes too long. `run` returns then."""
        self._stopping.set()
        process = self._process
        if process is None or process.returncode is not None:
            return
        self._set("stopping")
        self._signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(process.wait(), self._settings.stop_timeout_seconds)
        except TimeoutError:
            self.kill()
            await process.wait()

    def kill(self) -> None:
        """End it at once."""
        self._stopping.set()
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        process = self._process
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(number)

    async def _live_once(self) -> float | None:
        """One life of the process, or an attempt at one: seconds to wait before the next, None where there is none.

        `reason` tells then why it ended.
        """
        try:
            process, ready_end, output_end = await self._begin()
        except OSError as error:
            self.reason = f"it could not be started: {error}"
            return self._policy.after_failed_start(monotonic(), error)
        was_ready, exit_code = await self._live(process, ready_end, output_end)
        if self._stopping.is_set():
            return None
        wait = self._policy.after_death(monotonic(), exit_code, was_ready)
        # Whoever is killed from outside has no last words of its own.
        words = "" if -exit_code in (signal.SIGKILL, signal.SIGTERM) else self._log.reason()
        self.reason = f"{_ended(exit_code)}: {words}" if words else _ended(exit_code)
        if wait is None and exit_code != HOPELESS_EXIT:
            self.reason = f"it keeps crashing; {self.reason}"
        return wait

    async def _begin(self) -> tuple[Started, int, int]:
        """The process, and where it says that it is ready, and all else; OSError where it could not be started."""
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            ready_end, ready = _pipe(ours, theirs)
            output_end, output = _pipe(ours, theirs)
            process = await self._starter.start(Start(self._module, ("--home", str(self._home)), output, ready))
            ours.pop_all()
            return process, ready_end, output_end

    async def _live(self, process: Started, ready_end: int, output_end: int) -> tuple[bool, int]:
        """To its end: whether it became ready, and its exit code."""
        self._process = process
        if self._stopping.is_set():
            self._signal(signal.SIGTERM)
        self._changed()
        readiness = asyncio.create_task(self._await_ready(ready_end))
        await self._log.follow(output_end)
        exit_code = await process.wait()
        return await readiness, exit_code

    async def _await_ready(self, reader: int) -> bool:
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        loop.add_reader(reader, readable.set)
        try:
            await readable.wait()
            ready = bool(os.read(reader, 64))
        finally:
            loop.remove_reader(reader)
            os.close(reader)
        if ready and not self._stopping.is_set():
            # The reason of the last end stays: `status` tells why a running process was started again.
            self._set("running")
        return ready

    def _set(self, state: str) -> None:
        self._state = state
        self._since = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._changed()


def _pipe(reading: contextlib.ExitStack, writing: contextlib.ExitStack) -> tuple[int, int]:
    """A pipe whose ends are closed with the one and the other."""
    read_end, write_end = os.pipe()
    reading.callback(os.close, read_end)
    writing.callback(os.close, write_end)
    return read_end, write_end


def _ended(exit_code: int) -> str:
    if exit_code < 0:
        with contextlib.suppress(ValueError):
            return f"ended by {signal.Signals(-exit_code).name}"
    return f"exit code {exit_code}"

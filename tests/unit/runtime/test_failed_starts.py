"""A process that the system would not start: it is tried again, and its supervisor tells why it is not there."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from aico_memory.runtime.child import Child
from aico_memory.runtime.deployment import read_table
from aico_memory.runtime.forking import Forking
from aico_memory.runtime.joblog import ProcessLog
from aico_memory.runtime.processes import await_running
from aico_memory.runtime.restarts import RestartPolicy
from aico_memory.runtime.spawning import Spawning, Start, Started
from aico_memory.runtime.waiting import until
from aico_memory.settings.runtime import RuntimeSettings
from tests.support.supervisors import ROOT, StartSupervisor

SETTINGS = RuntimeSettings(restart_first_ms=1, restart_limit_ms=4, crash_loop_count=4, crash_loop_seconds=60)
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


class Refusing(Spawning):
    """Starts nothing so many times, as a system without room would."""

    def __init__(self, times: int, number: int) -> None:
        super().__init__(ENVIRONMENT)
        self.times = times
        self.number = number

    async def start(self, what: Start) -> Started:
        if self.times:
            self.times -= 1
            raise OSError(self.number, os.strerror(self.number))
        return await super().start(what)


async def lived(folder: Path, starter: Spawning) -> tuple[Child, list[tuple[str, str]]]:
    """A child until it runs or is given up, and what it told on the way."""
    told: list[tuple[str, str]] = []
    moved = asyncio.Event()

    def changed() -> None:
        told.append((child.state.state, child.state.reason))
        moved.set()

    log = ProcessLog(folder / "working.log", 1_000_000, 1)
    child = Child("working", "tests.support.processes.working", folder, starter, SETTINGS, log, changed)
    life = asyncio.create_task(child.run())
    while not (child.running or child.failed or life.done()):
        moved.clear()
        await asyncio.wait({life, asyncio.create_task(moved.wait())}, return_when=asyncio.FIRST_COMPLETED)
    await child.stop()
    await life
    log.close()
    return child, told


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir()) if sys.platform == "linux" else 0


def test_a_start_that_fails_for_want_of_room_is_tried_again_until_there_is_some(tmp_path: Path) -> None:
    before = open_files()
    _, told = asyncio.run(lived(tmp_path, Refusing(9, errno.EAGAIN)))
    reason = f"it could not be started: [Errno {errno.EAGAIN}] {os.strerror(errno.EAGAIN)}"
    assert told.count(("restarting", reason)) == 9, "more often than a crash loop may last"
    assert ("running", reason) in told, "status tells why it was not there"
    assert open_files() == before


def test_a_start_that_can_never_be_is_given_up_with_its_reason(tmp_path: Path) -> None:
    child, told = asyncio.run(lived(tmp_path, Refusing(99, errno.ENOENT)))
    assert child.failed
    assert "No such file" in child.reason
    assert [state for state, _ in told].count("starting") == SETTINGS.crash_loop_count


def test_a_want_of_the_machine_is_no_crash_and_waits_longer_each_time() -> None:
    policy = RestartPolicy(RuntimeSettings(restart_first_ms=100, restart_limit_ms=400, crash_loop_count=2))
    waits = [policy.after_failed_start(float(second), OSError(errno.ENOMEM, "")) for second in range(5)]
    assert waits == [0.1, 0.2, 0.4, 0.4, 0.4]
    assert policy.after_failed_start(6.0, PermissionError(errno.EACCES, "")) == 0.4
    assert policy.after_failed_start(7.0, PermissionError(errno.EACCES, "")) is None


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere processes are spawned")
def test_where_a_fork_server_cannot_be_started_processes_are_spawned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(*arguments: Any, **more: Any) -> int:
        raise BlockingIOError(errno.EAGAIN, "no room")

    async def started() -> int:
        log = ProcessLog(tmp_path / "fork_server.log", 1_000_000, 1)
        forking = Forking((), ENVIRONMENT, SETTINGS, log, lambda: None)
        ready_end, ready = os.pipe()
        process = await asyncio.wait_for(forking.start(Start("platform", (), ready, ready)), 60)
        os.close(ready)
        code = await process.wait()
        os.close(ready_end)
        await forking.close()
        log.close()
        return code

    before = open_files()
    monkeypatch.setattr(os, "posix_spawn", no_room)
    asyncio.run(started())
    assert "no room): processes are spawned from now on" in (tmp_path / "fork_server.log").read_text()
    assert open_files() == before


@pytest.fixture(params=[True, False], ids=["forked", "spawned"])
def supervise(request: pytest.FixtureRequest, start_supervisor: StartSupervisor) -> StartSupervisor:
    return partial(start_supervisor, fork_server=request.param)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of another process are set on Linux alone")
def test_a_supervisor_that_ran_out_of_descriptors_starts_again_what_died_meanwhile(supervise: StartSupervisor) -> None:
    supervisor = supervise()
    supervisor.until_line("ready")
    table = read_table(supervisor.home)
    assert table is not None
    pid = next(state.pid for state in table.processes if state.name == "working")
    assert pid is not None
    itself = psutil.Process(supervisor.process.pid)
    allowed = itself.rlimit(psutil.RLIMIT_NOFILE)
    itself.rlimit(psutil.RLIMIT_NOFILE, (3, allowed[1]))
    os.kill(pid, signal.SIGKILL)
    until(lambda: True if not psutil.pid_exists(pid) else None, 120, "nobody waits for it")
    itself.rlimit(psutil.RLIMIT_NOFILE, allowed)
    await_running(supervisor.home, "working", pid, 120)
    supervisor.signal(signal.SIGTERM)
    assert supervisor.wait() == 0

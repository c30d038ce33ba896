from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aico_memory.clock import FixedClock
from aico_memory.paths import Home
from aico_memory.settings.runtime import RuntimeSettings
from tests.support.supervisors import RunningSupervisor, StartSupervisor
from tests.support.twin_bus import TwinBus
from tests.unit.runtime.worker import QUICK, Keeper, RunningWorker

StartWorker = Callable[..., RunningWorker]


@pytest.fixture
def bus() -> TwinBus:
    return TwinBus()


@pytest.fixture
def start_worker(bus: TwinBus, tmp_path: Path) -> Iterator[StartWorker]:
    """Starts worker loops on the twin bus; all are ended with the test."""
    started: list[RunningWorker] = []

    def start(handlers: Keeper, settings: RuntimeSettings = QUICK, stopped: threading.Event | None = None) -> RunningWorker:
        clock = FixedClock(datetime(2026, 5, 1, tzinfo=UTC))
        worker = RunningWorker(bus, handlers, Home(tmp_path), clock, settings, writing_stopped=stopped or threading.Event())
        started.append(worker)
        return worker

    yield start
    for worker in started:
        worker.end()


@pytest.fixture
def start_supervisor(tmp_path: Path) -> Iterator[StartSupervisor]:
    started: list[RunningSupervisor] = []

    def start(acts: dict[str, str] | None = None, **settings: object) -> RunningSupervisor:
        supervisor = RunningSupervisor(Home(tmp_path / "home"), acts or {}, settings)
        started.append(supervisor)
        return supervisor

    yield start
    for supervisor in started:
        supervisor.process.kill()
        supervisor.process.wait()
        if supervisor.process.stdout is not None:
            supervisor.process.stdout.close()

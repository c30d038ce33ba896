from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aico_memory.clock import FixedClock
from aico_memory.paths import Home
from aico_memory.settings.runtime import RuntimeSettings
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

    def start(handlers: Keeper, settings: RuntimeSettings = QUICK) -> RunningWorker:
        clock = FixedClock(datetime(2026, 5, 1, tzinfo=UTC))
        worker = RunningWorker(bus, handlers, Home(tmp_path), clock, settings)
        started.append(worker)
        return worker

    yield start
    for worker in started:
        worker.end()

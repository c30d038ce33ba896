"""The scheduler's ledger in memory."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aico_memory.domain.scheduling.job import Firing, Outcome
from aico_memory.domain.scheduling.plan import JobMark
from aico_memory.stores.tables import TableState


@dataclass
class SchedulerTables:
    """Marks by job, firings by id."""

    marks: dict[str, JobMark] = field(default_factory=dict)
    firings: dict[uuid.UUID, Firing] = field(default_factory=dict)

    def copy(self) -> SchedulerTables:
        return SchedulerTables(dict(self.marks), dict(self.firings))


class MemoryLedger:
    """The port `SchedulerLedger` over tables."""

    def __init__(self, tables: SchedulerTables) -> None:
        self._tables = tables

    def marks(self) -> dict[str, JobMark]:
        return dict(self._tables.marks)

    def set_mark(self, mark: JobMark) -> None:
        self._tables.marks[mark.job] = mark

    def keep_marks(self, jobs: Collection[str]) -> None:
        for job in set(self._tables.marks) - set(jobs):
            del self._tables.marks[job]

    def put(self, firing: Firing) -> None:
        self._tables.firings[firing.firing_id] = firing

    def firing(self, firing_id: uuid.UUID) -> Firing | None:
        return self._tables.firings.get(firing_id)

    def waiting(self) -> list[Firing]:
        return [one for one in self._sorted() if one.outcome is Outcome.PLANNED]

    def running(self) -> list[Firing]:
        return [one for one in self._sorted() if one.outcome is Outcome.FIRED and not one.finished_us]

    def history(self, limit: int) -> list[Firing]:
        return self._sorted()[::-1][:limit]

    def last(self) -> dict[str, Firing]:
        return {one.job: one for one in self._sorted() if one.outcome is not Outcome.PLANNED}

    def prune(self, before_us: int) -> int:
        newest = {one.firing_id for one in self.last().values()}
        old = [
            one.firing_id
            for one in self._sorted()
            if one.planned_us < before_us and one.finished_us and one.firing_id not in newest
        ]
        for firing_id in old:
            del self._tables.firings[firing_id]
        return len(old)

    def _sorted(self) -> list[Firing]:
        return sorted(self._tables.firings.values(), key=lambda one: (one.planned_us, one.firing_id.bytes))


class MemorySchedulerStore:
    """The port `SchedulerStore` in memory."""

    def __init__(self) -> None:
        self.state = TableState(SchedulerTables())

    def within(self, transaction: Any) -> MemoryLedger:
        return MemoryLedger(self.state.draft())

    @contextmanager
    def reading(self) -> Iterator[MemoryLedger]:
        yield MemoryLedger(self.state.tables)

    def close(self) -> None:
        """Nothing to let go."""

"""Port: the scheduler's ledger."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from contextlib import AbstractContextManager
from typing import Any, Protocol

from aico_memory.contracts.consumer_state import ConsumerState
from aico_memory.domain.scheduling.job import Firing
from aico_memory.domain.scheduling.plan import JobMark


class SchedulerLedger(Protocol):
    """Marks and firings, as one transaction or snapshot sees them."""

    def marks(self) -> dict[str, JobMark]:
        """The mark of every job that has one."""

    def set_mark(self, mark: JobMark) -> None:
        """Replace a job's mark."""

    def keep_marks(self, jobs: Collection[str]) -> None:
        """Forget the marks of all other jobs: should they come back, they begin anew."""

    def put(self, firing: Firing) -> None:
        """Write a firing, new or changed."""

    def firing(self, firing_id: uuid.UUID) -> Firing | None:
        """One firing."""

    def waiting(self) -> list[Firing]:
        """Planned and not yet fired, by planned time."""

    def running(self) -> list[Firing]:
        """Fired with their end still to be reported, by planned time."""

    def history(self, limit: int) -> list[Firing]:
        """The newest firings by planned time, newest first."""

    def last(self) -> dict[str, Firing]:
        """Each job's newest firing that is no longer waiting."""

    def prune(self, before_us: int) -> int:
        """Remove ended firings planned before this, each job's newest excepted; returns how many."""


class SchedulerStore(Protocol):
    """The ledger with the consumer's state beside it."""

    @property
    def state(self) -> ConsumerState:
        """Cursor, outbox and transactions."""

    def within(self, transaction: Any) -> SchedulerLedger:
        """The ledger inside an open transaction of `state`."""

    def reading(self) -> AbstractContextManager[SchedulerLedger]:
        """The ledger as of now; its writing methods are not to be used."""

    def close(self) -> None:
        """Let the store go."""

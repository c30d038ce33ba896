"""Port: the ledger of consolidation runs."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from aico_memory.contracts.consumer_state import ConsumerState
from aico_memory.domain.consolidation.decide import UserView
from aico_memory.domain.consolidation.run import Batch, PhaseRun, PhaseTotals, Run, Status, UserRun


class ConsolidationLedger(Protocol):
    """Runs and their parts, as one transaction or snapshot sees them."""

    def add_run(self, run: Run) -> bool:
        """Write a new run; False, and nothing happens, where its id is known."""

    def put_run(self, run: Run) -> None:
        """Replace a run."""

    def run(self, run_id: uuid.UUID) -> Run | None:
        """One run."""

    def run_of(self, firing_id: str) -> Run | None:
        """The run of a firing."""

    def current(self) -> Run | None:
        """The first run, in the order of their starts, that has not ended."""

    def runs(self, limit: int) -> list[Run]:
        """The newest runs, newest first."""

    def add_users(self, run_id: uuid.UUID, parts: Sequence[UserRun]) -> None:
        """Add users to a run; one that is there already stays as it is."""

    def put_user(self, run_id: uuid.UUID, part: UserRun) -> None:
        """Replace a user's part."""

    def waiting(self, run_id: uuid.UUID, limit: int) -> list[UserRun]:
        """Users not begun, those with the most pending first, then by name."""

    def views(self, run_id: uuid.UUID) -> list[UserView]:
        """The users at work, by name, with the state of their phase."""

    def user_counts(self, run_id: uuid.UUID) -> dict[Status, int]:
        """How many users of a run stand where."""

    def cut(self, run_id: uuid.UUID, phase: PhaseRun, batches: Sequence[Batch]) -> None:
        """Write a phase with its batches."""

    def phase(self, run_id: uuid.UUID, user: str, phase: str) -> PhaseRun | None:
        """One phase, where it has been cut."""

    def put_phase(self, run_id: uuid.UUID, phase: PhaseRun) -> None:
        """Replace a phase."""

    def batch(self, run_id: uuid.UUID, user: str, phase: str, number: int) -> Batch | None:
        """One batch."""

    def put_batch(self, run_id: uuid.UUID, batch: Batch) -> None:
        """Replace a batch."""

    def totals(self, run_id: uuid.UUID) -> list[PhaseTotals]:
        """What each phase of a run has done, by name of the phase."""

    def batches(self, user: str, after: tuple[str, bytes, str, int] | None, limit: int) -> list[tuple[uuid.UUID, Batch]]:
        """Batches ordered by (user, run id, phase, number); of one user, or of all where it is ""."""

    def prune(self, before_us: int) -> int:
        """Remove runs that ended before this, with all their parts; returns how many."""


class ConsolidationStore(Protocol):
    """The ledger with the consumer's state beside it."""

    @property
    def state(self) -> ConsumerState:
        """Cursor, outbox and transactions."""

    def within(self, transaction: Any) -> ConsolidationLedger:
        """The ledger inside an open transaction of `state`."""

    def reading(self) -> AbstractContextManager[ConsolidationLedger]:
        """The ledger as of now; its writing methods are not to be used."""

    def close(self) -> None:
        """Let the store go."""

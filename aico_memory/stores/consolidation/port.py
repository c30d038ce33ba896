"""Port: the ledger of consolidation runs."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from aico_memory.contracts.consumer_state import ConsumerState
from aico_memory.domain.consolidation.cycle import Cycle
from aico_memory.domain.consolidation.decide import UserView
from aico_memory.domain.consolidation.run import Amounts, Batch, Counts, Decision, PhaseRun, PhaseTotals, Run, Status, UserRun


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

    def user(self, run_id: uuid.UUID, user: str) -> UserRun | None:
        """One user's part of a run."""

    def put_user(self, run_id: uuid.UUID, part: UserRun) -> None:
        """Replace a user's part."""

    def waiting(self, run_id: uuid.UUID, limit: int) -> list[UserRun]:
        """Users not begun: who waits longest, then who has the most pending, then by name."""

    def views(self, run_id: uuid.UUID) -> list[UserView]:
        """The users at work, by name, with the state of their phase."""

    def view(self, run_id: uuid.UUID, part: UserRun) -> UserView:
        """The state of the phase that this user is at."""

    def user_counts(self, run_id: uuid.UUID) -> dict[Status, int]:
        """How many users of a run stand where."""

    def user_totals(self, run_id: uuid.UUID) -> tuple[Counts, Counts]:
        """What long-term memory held of all users of a run that are done, summed: before and after."""

    def open_phase(self, run_id: uuid.UUID, phase: PhaseRun, order: Sequence[bytes] = ()) -> None:
        """Write a phase, with the experiences that it replays in their order."""

    def ordered(self, run_id: uuid.UUID, user: str, phase: str, start: int, limit: int) -> tuple[bytes, ...]:
        """A part of that order."""

    def phase(self, run_id: uuid.UUID, user: str, phase: str) -> PhaseRun | None:
        """One phase, where it has begun."""

    def put_phase(self, run_id: uuid.UUID, phase: PhaseRun) -> None:
        """Replace a phase."""

    def batch(self, run_id: uuid.UUID, user: str, phase: str, number: int) -> Batch | None:
        """One batch."""

    def put_batch(self, run_id: uuid.UUID, batch: Batch) -> None:
        """Replace a batch."""

    def amounts(self, run_id: uuid.UUID, user: str, phase: str) -> Amounts:
        """How far a user's phase is."""

    def totals(self, run_id: uuid.UUID) -> list[PhaseTotals]:
        """What each phase of a run has done, by name of the phase."""

    def samples(self, run_id: uuid.UUID, phase: str, limit: int) -> list[Decision]:
        """Explained decisions of a phase, by user and step."""

    def cycles(self, users: Sequence[str]) -> dict[str, Cycle]:
        """The places of these users in the cycle, of those who have one."""

    def put_cycle(self, cycle: Cycle) -> None:
        """Replace a user's place in the cycle."""

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

"""The ledger of runs in memory."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aico_memory.domain.consolidation.decide import UserView
from aico_memory.domain.consolidation.run import FINAL, Batch, PhaseRun, PhaseTotals, Run, Status, UserRun
from aico_memory.stores.tables import TableState

UserKey = tuple[uuid.UUID, str]
PhaseKey = tuple[uuid.UUID, str, str]
BatchKey = tuple[uuid.UUID, str, str, int]


@dataclass
class ConsolidationTables:
    """Runs by id, their parts by the path to them."""

    runs: dict[uuid.UUID, Run] = field(default_factory=dict)
    users: dict[UserKey, UserRun] = field(default_factory=dict)
    phases: dict[PhaseKey, PhaseRun] = field(default_factory=dict)
    batches: dict[BatchKey, Batch] = field(default_factory=dict)

    def copy(self) -> ConsolidationTables:
        return ConsolidationTables(dict(self.runs), dict(self.users), dict(self.phases), dict(self.batches))


class MemoryConsolidationLedger:
    """The port `ConsolidationLedger` over tables."""

    def __init__(self, tables: ConsolidationTables) -> None:
        self._tables = tables

    def add_run(self, run: Run) -> bool:
        if run.run_id in self._tables.runs:
            return False
        self._tables.runs[run.run_id] = run
        return True

    def put_run(self, run: Run) -> None:
        self._tables.runs[run.run_id] = run

    def run(self, run_id: uuid.UUID) -> Run | None:
        return self._tables.runs.get(run_id)

    def run_of(self, firing_id: str) -> Run | None:
        return next((run for run in self._ordered() if run.firing_id == firing_id), None)

    def current(self) -> Run | None:
        return next((run for run in self._ordered() if run.status not in FINAL), None)

    def runs(self, limit: int) -> list[Run]:
        return self._ordered()[::-1][:limit]

    def add_users(self, run_id: uuid.UUID, parts: Sequence[UserRun]) -> None:
        for part in parts:
            self._tables.users.setdefault((run_id, part.user), part)

    def put_user(self, run_id: uuid.UUID, part: UserRun) -> None:
        self._tables.users[run_id, part.user] = part

    def waiting(self, run_id: uuid.UUID, limit: int) -> list[UserRun]:
        found = [part for part in self._parts(run_id) if part.status is Status.WAITING]
        return sorted(found, key=lambda part: (-part.pending, part.user))[:limit]

    def views(self, run_id: uuid.UUID) -> list[UserView]:
        return [self._view(run_id, part) for part in self._parts(run_id) if part.status is Status.ACTIVE]

    def user_counts(self, run_id: uuid.UUID) -> dict[Status, int]:
        return dict(Counter(part.status for part in self._parts(run_id)))

    def cut(self, run_id: uuid.UUID, phase: PhaseRun, batches: Sequence[Batch]) -> None:
        self.put_phase(run_id, phase)
        for batch in batches:
            self.put_batch(run_id, batch)

    def phase(self, run_id: uuid.UUID, user: str, phase: str) -> PhaseRun | None:
        return self._tables.phases.get((run_id, user, phase))

    def put_phase(self, run_id: uuid.UUID, phase: PhaseRun) -> None:
        self._tables.phases[run_id, phase.user, phase.phase] = phase

    def batch(self, run_id: uuid.UUID, user: str, phase: str, number: int) -> Batch | None:
        return self._tables.batches.get((run_id, user, phase, number))

    def put_batch(self, run_id: uuid.UUID, batch: Batch) -> None:
        self._tables.batches[run_id, batch.user, batch.phase, batch.number] = batch

    def totals(self, run_id: uuid.UUID) -> list[PhaseTotals]:
        names = sorted({key[2] for key in self._tables.phases if key[0] == run_id})
        return [self._total(run_id, name) for name in names]

    def batches(self, user: str, after: tuple[str, bytes, str, int] | None, limit: int) -> list[tuple[uuid.UUID, Batch]]:
        keyed = sorted(
            ((batch.user, run_id.bytes, batch.phase, batch.number), run_id, batch)
            for (run_id, *_), batch in self._tables.batches.items()
            if not user or batch.user == user
        )
        return [(run_id, batch) for key, run_id, batch in keyed if after is None or key > after][:limit]

    def prune(self, before_us: int) -> int:
        old = {run.run_id for run in self._ordered() if run.status in FINAL and run.finished_us < before_us}
        tables = self._tables
        tables.runs = {key: run for key, run in tables.runs.items() if key not in old}
        tables.users = {key: part for key, part in tables.users.items() if key[0] not in old}
        tables.phases = {key: phase for key, phase in tables.phases.items() if key[0] not in old}
        tables.batches = {key: batch for key, batch in tables.batches.items() if key[0] not in old}
        return len(old)

    def _ordered(self) -> list[Run]:
        return sorted(self._tables.runs.values(), key=lambda run: (run.sequence, run.run_id.bytes))

    def _parts(self, run_id: uuid.UUID) -> list[UserRun]:
        return sorted((part for key, part in self._tables.users.items() if key[0] == run_id), key=lambda part: part.user)

    def _of_phase(self, run_id: uuid.UUID, name: str, user: str | None = None) -> list[Batch]:
        found = (batch for key, batch in self._tables.batches.items() if key[0] == run_id and key[2] == name)
        return [batch for batch in found if user is None or batch.user == user]

    def _view(self, run_id: uuid.UUID, part: UserRun) -> UserView:
        name = part.phases[part.phase] if part.phase < len(part.phases) else ""
        batches = self._of_phase(run_id, name, part.user)
        unsent = [batch.number for batch in batches if batch.status is Status.WAITING]
        return UserView(
            part,
            cut=(run_id, part.user, name) in self._tables.phases,
            next_batch=min(unsent, default=-1),
            in_flight=sum(batch.status is Status.ACTIVE for batch in batches),
        )

    def _total(self, run_id: uuid.UUID, name: str) -> PhaseTotals:
        phases = [phase for key, phase in self._tables.phases.items() if key[0] == run_id and key[2] == name]
        batches = self._of_phase(run_id, name)
        done = [batch for batch in batches if batch.status is Status.DONE]
        return PhaseTotals(
            name, len(phases), len(batches), len(done),
            sum(len(batch.event_ids) for batch in done), sum(phase.experiences for phase in phases),
            sum(batch.memories for batch in batches), sum(batch.unknown for batch in batches),
            sum(phase.finished_us - phase.started_us for phase in phases if phase.finished_us),
        )  # fmt: skip


class MemoryConsolidationStore:
    """The port `ConsolidationStore` in memory."""

    def __init__(self) -> None:
        self.state = TableState(ConsolidationTables())

    def within(self, transaction: Any) -> MemoryConsolidationLedger:
        return MemoryConsolidationLedger(self.state.draft())

    @contextmanager
    def reading(self) -> Iterator[MemoryConsolidationLedger]:
        yield MemoryConsolidationLedger(self.state.tables)

    def close(self) -> None:
        """Nothing to let go."""

"""The ledger of runs in memory."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aico_memory.domain.consolidation.cycle import Cycle
from aico_memory.domain.consolidation.decide import UserView
from aico_memory.domain.consolidation.run import (
    FINAL,
    Amounts,
    Batch,
    Counts,
    Decision,
    PhaseRun,
    PhaseTotals,
    Run,
    Status,
    UserRun,
)  # fmt: skip
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
    orders: dict[PhaseKey, tuple[bytes, ...]] = field(default_factory=dict)
    cycles: dict[str, Cycle] = field(default_factory=dict)

    def copy(self) -> ConsolidationTables:
        return ConsolidationTables(
            dict(self.runs), dict(self.users), dict(self.phases), dict(self.batches), dict(self.orders), dict(self.cycles)
        )


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

    def user(self, run_id: uuid.UUID, user: str) -> UserRun | None:
        return self._tables.users.get((run_id, user))

    def put_user(self, run_id: uuid.UUID, part: UserRun) -> None:
        self._tables.users[run_id, part.user] = part

    def waiting(self, run_id: uuid.UUID, limit: int) -> list[UserRun]:
        found = [part for part in self._parts(run_id) if part.status is Status.WAITING]
        return sorted(found, key=lambda part: (-part.overdue, -part.pending, part.user))[:limit]

    def views(self, run_id: uuid.UUID) -> list[UserView]:
        return [self.view(run_id, part) for part in self._parts(run_id) if part.status is Status.ACTIVE]

    def view(self, run_id: uuid.UUID, part: UserRun) -> UserView:
        name = part.phases[part.phase] if part.phase < len(part.phases) else ""
        phase = self.phase(run_id, part.user, name)
        batches = self._of_phase(run_id, name, part.user)
        following = min((batch.number for batch in batches if batch.status is Status.WAITING), default=-1)
        if following < 0 and phase is not None and sum(len(batch.event_ids) for batch in batches) < phase.experiences:
            following = len(batches)
        in_flight = sum(batch.status is Status.ACTIVE for batch in batches)
        return UserView(part, open=phase is not None, next_batch=following, in_flight=in_flight)

    def user_counts(self, run_id: uuid.UUID) -> dict[Status, int]:
        return dict(Counter(part.status for part in self._parts(run_id)))

    def user_totals(self, run_id: uuid.UUID) -> tuple[Counts, Counts]:
        done = [part for part in self._parts(run_id) if part.status is Status.DONE]
        return _summed(part.before for part in done), _summed(part.after for part in done)

    def open_phase(self, run_id: uuid.UUID, phase: PhaseRun, order: Sequence[bytes] = ()) -> None:
        self.put_phase(run_id, phase)
        if order:
            self._tables.orders[run_id, phase.user, phase.phase] = tuple(order)

    def ordered(self, run_id: uuid.UUID, user: str, phase: str, start: int, limit: int) -> tuple[bytes, ...]:
        return self._tables.orders.get((run_id, user, phase), ())[start : start + limit]

    def phase(self, run_id: uuid.UUID, user: str, phase: str) -> PhaseRun | None:
        return self._tables.phases.get((run_id, user, phase))

    def put_phase(self, run_id: uuid.UUID, phase: PhaseRun) -> None:
        self._tables.phases[run_id, phase.user, phase.phase] = phase

    def batch(self, run_id: uuid.UUID, user: str, phase: str, number: int) -> Batch | None:
        return self._tables.batches.get((run_id, user, phase, number))

    def put_batch(self, run_id: uuid.UUID, batch: Batch) -> None:
        self._tables.batches[run_id, batch.user, batch.phase, batch.number] = batch

    def amounts(self, run_id: uuid.UUID, user: str, phase: str) -> Amounts:
        batches = self._of_phase(run_id, phase, user)
        done = [batch for batch in batches if batch.status is Status.DONE]
        held, held_done = (sum(len(batch.event_ids) for batch in some) for some in (batches, done))
        return Amounts(len(batches), held, len(done), held_done)

    def totals(self, run_id: uuid.UUID) -> list[PhaseTotals]:
        names = sorted({key[2] for key in self._tables.phases if key[0] == run_id})
        return [self._total(run_id, name) for name in names]

    def samples(self, run_id: uuid.UUID, phase: str, limit: int) -> list[Decision]:
        batches = sorted(self._of_phase(run_id, phase), key=lambda batch: (batch.user, batch.number))
        return [one for batch in batches for one in batch.samples][:limit]

    def cycles(self, users: Sequence[str]) -> dict[str, Cycle]:
        return {user: self._tables.cycles[user] for user in users if user in self._tables.cycles}

    def put_cycle(self, cycle: Cycle) -> None:
        self._tables.cycles[cycle.user] = cycle

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
        tables.orders = {key: order for key, order in tables.orders.items() if key[0] not in old}
        return len(old)

    def _ordered(self) -> list[Run]:
        return sorted(self._tables.runs.values(), key=lambda run: (run.sequence, run.run_id.bytes))

    def _parts(self, run_id: uuid.UUID) -> list[UserRun]:
        return sorted((part for key, part in self._tables.users.items() if key[0] == run_id), key=lambda part: part.user)

    def _of_phase(self, run_id: uuid.UUID, name: str, user: str | None = None) -> list[Batch]:
        found = (batch for key, batch in self._tables.batches.items() if key[0] == run_id and key[2] == name)
        return [batch for batch in found if user is None or batch.user == user]

    def _total(self, run_id: uuid.UUID, name: str) -> PhaseTotals:
        phases = [phase for key, phase in self._tables.phases.items() if key[0] == run_id and key[2] == name]
        batches = self._of_phase(run_id, name)
        done = [batch for batch in batches if batch.status is Status.DONE]
        failed = [phase for phase in phases if phase.status is Status.FAILED]
        return PhaseTotals(
            name, len(phases), len(batches), len(done),
            sum(len(batch.event_ids) for batch in done), sum(phase.experiences for phase in phases),
            sum(batch.memories for batch in batches), sum(batch.unknown for batch in batches),
            sum(phase.finished_us - phase.started_us for phase in phases if phase.finished_us),
            _summed(batch.counts for batch in batches),
            len(failed), max((phase.error for phase in failed or phases), default=""),
        )  # fmt: skip


def _summed(counts: Iterable[Counts]) -> Counts:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return dict(sorted(total.items()))


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

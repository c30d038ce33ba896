"""The steps of a run, each taken in a transaction together with what it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from aico_memory.domain.consolidation.cycle import Cycle
from aico_memory.domain.consolidation.decide import SECOND_US, NextPhase, OpenPhase, SendBatch, next_of
from aico_memory.domain.consolidation.pace import Pace, next_size
from aico_memory.domain.consolidation.run import Batch, PhaseRun, Run, Status, UserRun, require_transition
from aico_memory.domain.gate.policy import HELD
from aico_memory.domain.sleep.names import PHASES, REPLAY
from aico_memory.settings.consolidation import ConsolidationSettings
from aico_memory.stores.consolidation.port import ConsolidationLedger
from services.consolidation.messages import Held, Samples, batch_record, complete_records

DAY_US = 86_400 * SECOND_US


class Steps:
    """One run's steps over an open transaction; they read nothing but the ledger."""

    def __init__(self, ledger: ConsolidationLedger, transaction: Any, run: Run, settings: ConsolidationSettings) -> None:
        self._ledger = ledger
        self._transaction = transaction
        self._run = run
        self._settings = settings
        self._pace = Pace(settings.batch_size, settings.batch_least, settings.batch_most, settings.batch_seconds)

    def start_user(self, part: UserRun, now_us: int) -> None:
        """Take a waiting user."""
        self._ledger.put_user(self._run.run_id, replace(part, status=Status.ACTIVE, started_us=now_us))

    def open_phase(self, user: str, phase: str, order: Sequence[bytes], now_us: int) -> None:
        """Begin a phase: a replay with its order, another one with its first step."""
        run_id = self._run.run_id
        self._ledger.open_phase(run_id, PhaseRun(user, phase, experiences=len(order), started_us=now_us), order)
        if phase != REPLAY:
            self._ledger.put_batch(run_id, Batch(user, phase, 0))

    def report(self, done: Batch, now_us: int, following: str = "") -> None:
        """Write down what a batch or step led to, and where its phase goes on: a part that fails stops no other."""
        run_id = self._run.run_id
        ended = replace(done, status=Status.DONE, finished_us=now_us)
        self._ledger.put_batch(run_id, ended)
        if done.error:
            phase = self._ledger.phase(run_id, done.user, done.phase)
            # Of several the first failure is told.
            if phase is not None and not _is_failure(phase.error):
                self._ledger.put_phase(run_id, replace(phase, error=done.error))
        if following:
            self._ledger.put_batch(run_id, Batch(done.user, done.phase, done.number + 1, begins_after=following))

    def lead_on(self, user: str, now_us: int, *, heavy: bool = True) -> UserRun:
        """Take this user as far as can be gone without asking anybody; `heavy` False stops before the other phases.

        Returns where the user stands then.
        """
        run_id = self._run.run_id
        part = self._ledger.user(run_id, user)
        assert part is not None
        while True:
            step = next_of(self._ledger.view(run_id, part))
            if isinstance(step, SendBatch):
                self._send(step, now_us)
            elif isinstance(step, NextPhase):
                part = self._next_phase(part, step.phase, now_us)
            elif isinstance(step, OpenPhase) and step.phase != REPLAY and heavy:
                self.open_phase(user, step.phase, (), now_us)
            else:
                return part

    def finish_user(self, part: UserRun, after: dict[str, int], now_us: int) -> None:
        """All phases are done: note what is held now, and the user's place in the cycle."""
        run_id = self._run.run_id
        self._ledger.put_user(run_id, replace(part, status=Status.DONE, after=after, finished_us=now_us))
        through = {name for name in part.phases if _unfailed(self._ledger.phase(run_id, part.user, name))}
        known = self._ledger.cycles([part.user]).get(part.user) or Cycle(part.user, self._run.until_us)
        if REPLAY in through:
            known = replace(known, replayed_us=self._run.until_us)
        if {phase.name for phase in PHASES if phase.heavy} <= through:
            known = replace(known, full_us=self._run.until_us)
        self._ledger.put_cycle(known)

    def finish_run(self, status: Status, error: str, now_us: int) -> None:
        """End the run and say so."""
        require_transition(self._run.status, status)
        ended = replace(self._run, status=status, error=error, finished_us=now_us)
        self._ledger.put_run(ended)
        users = sum(self._ledger.user_counts(ended.run_id).values())
        totals = self._ledger.totals(ended.run_id)
        samples = samples_of(self._ledger, ended, self._settings)
        for record in complete_records(ended, users, totals, samples, held_of(self._ledger, ended)):
            self._transaction.emit(record)
        self._ledger.prune(now_us - self._settings.history_days * DAY_US)

    def _send(self, step: SendBatch, now_us: int) -> None:
        run_id = self._run.run_id
        batch = self._ledger.batch(run_id, step.user, step.phase, step.number)
        if batch is None:
            batch = self._next_batch(step)
        self._ledger.put_batch(run_id, replace(batch, status=Status.ACTIVE, sent_us=now_us))
        self._transaction.emit(batch_record(self._run, batch, now_us))

    def _next_batch(self, step: SendBatch) -> Batch:
        """The next part of a replay's order, as large as the time of the batch before it allows."""
        run_id = self._run.run_id
        last = self._ledger.batch(run_id, step.user, step.phase, step.number - 1) if step.number else None
        seconds = (last.finished_us - last.sent_us) / SECOND_US if last is not None else 0.0
        size = next_size(self._pace, len(last.event_ids) if last is not None else 0, seconds)
        taken = self._ledger.amounts(run_id, step.user, step.phase).experiences
        event_ids = self._ledger.ordered(run_id, step.user, step.phase, taken, size)
        return Batch(step.user, step.phase, step.number, event_ids, begins_after=str(taken))

    def _next_phase(self, part: UserRun, following: int, now_us: int) -> UserRun:
        run_id = self._run.run_id
        phase = self._ledger.phase(run_id, part.user, part.phases[part.phase])
        if phase is not None:
            status = Status.FAILED if _is_failure(phase.error) else Status.DONE
            self._ledger.put_phase(run_id, replace(phase, status=status, finished_us=now_us))
        moved = replace(part, phase=following)
        self._ledger.put_user(run_id, moved)
        return moved


def samples_of(ledger: ConsolidationLedger, run: Run, settings: ConsolidationSettings) -> Samples:
    """Explained decisions of each phase of a run, a bounded number."""
    names = [total.phase for total in ledger.totals(run.run_id)]
    return {name: ledger.samples(run.run_id, name, settings.samples) for name in names}


def held_of(ledger: ConsolidationLedger, run: Run) -> Held:
    """What long-term memory held of the users that are done, before and after."""
    return ledger.user_totals(run.run_id)


def is_at_end(part: UserRun) -> bool:
    """Whether all phases of the user are behind it."""
    return part.phase >= len(part.phases)


def _is_failure(error: str) -> bool:
    return bool(error) and error not in HELD


def _unfailed(phase: PhaseRun | None) -> bool:
    return phase is not None and phase.status is Status.DONE

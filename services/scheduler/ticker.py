"""The tick: plans what has come due and fires what may go, each step in one transaction with its message."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from aico_memory.clock import from_us, to_us
from aico_memory.domain.scheduling.cron import next_firing
from aico_memory.domain.scheduling.job import Firing, Job, Outcome
from aico_memory.domain.scheduling.plan import SECOND_US, JobMark, mark_for, overdue, plan, release, take_over
from aico_memory.settings.scheduler import SchedulerSettings
from aico_memory.stores.scheduler.port import SchedulerLedger, SchedulerStore
from services.scheduler.triggers import cancelled_record, trigger_record

_DAY_US = 86_400 * SECOND_US


def fire(ledger: SchedulerLedger, transaction: Any, job: Job, firing: Firing, now_us: int) -> Firing:
    """Record the firing and emit its trigger; without a reported end it counts as over at once."""
    fired = replace(firing, outcome=Outcome.FIRED, fired_us=now_us, finished_us=0 if job.reports else now_us)
    ledger.put(fired)
    transaction.emit(trigger_record(job, fired, now_us))
    return fired


def stop(ledger: SchedulerLedger, transaction: Any, job: Job | None, firing: Firing, reason: str, now_us: int) -> Firing:
    """End a firing before its end was reported, and tell its worker to stop."""
    ended = replace(firing, outcome=Outcome.FAILED, finished_us=max(now_us, 1), detail=reason)
    ledger.put(ended)
    transaction.emit(cancelled_record(job, ended, now_us))
    return ended


class Ticker:
    """Keeps the next planned times and the open firings in memory; the store is the truth after a start."""

    def __init__(self, store: SchedulerStore, jobs: Mapping[str, Job], settings: SchedulerSettings, now_us: int) -> None:
        self._store = store
        self._jobs = jobs
        self._settings = settings
        self._marks: dict[str, JobMark] = {}
        self._next_us: dict[str, int] = {}
        self._open: tuple[list[Firing], list[Firing]] | None = None
        self._pruned_us = now_us
        self._adopt(now_us)

    def invalidate(self) -> None:
        """The store's firings have changed beside the tick."""
        self._open = None

    def replace(self, jobs: Mapping[str, Job], now_us: int) -> None:
        """Go on with another schedule: what did not change keeps its marks, what waits for a job that is gone is missed."""
        self._jobs = jobs
        self._marks, self._next_us = {}, {}
        self._adopt(now_us)
        self._open = None

    def next_us(self, job: Job) -> int:
        """When an enabled job is planned next; 0 for a disabled one."""
        return self._next_us.get(job.name, 0)

    def tick(self, now_us: int, idle: bool) -> list[Firing]:
        """Plan and fire; returns what was fired."""
        if self._open is None:
            with self._store.reading() as ledger:
                self._open = (ledger.waiting(), ledger.running())
        waiting, running = self._open
        self._set_back(now_us)
        due, passed = self._due(now_us)
        due, replaced = _replacing(due, waiting, now_us)
        waiting = [firing for firing in waiting if all(firing.firing_id != one.firing_id for one in replaced)]
        late = overdue(running, self._jobs, now_us)
        planned = [firing for firing in due if firing.outcome is Outcome.PLANNED]
        busy = [firing for firing in running if firing not in late]
        going = release([*waiting, *planned], busy, self._jobs, now_us, idle)
        if not (due or passed or late or going):
            return []
        fired = self._commit(due, passed, replaced, late, going, now_us)
        self._open = None
        return fired

    def _adopt(self, now_us: int) -> None:
        """Take over the marks that still hold, begin at now for the others, drop what nobody will fire."""
        enabled = {name: job for name, job in self._jobs.items() if job.enabled}
        with self._store.state.transaction() as transaction:
            ledger = self._store.within(transaction)
            ledger.keep_marks(enabled)
            known = ledger.marks()
            for name, job in enabled.items():
                mark = mark_for(job, known.get(name), now_us)
                if mark != known.get(name):
                    ledger.set_mark(mark)
                self._remember(job, mark)
            for firing in ledger.waiting():
                if firing.job not in self._jobs or not (firing.manual or firing.job in enabled):
                    detail = "The job was taken off the schedule"
                    ledger.put(replace(firing, outcome=Outcome.MISSED, finished_us=now_us, detail=detail))

    def _set_back(self, now_us: int) -> None:
        """Where the clock was set back, plan from now on and not only once it has come to where it was."""
        ahead = {name: mark for name, mark in self._marks.items() if mark.evaluated_us > now_us}
        if not ahead:
            return
        with self._store.state.transaction() as transaction:
            ledger = self._store.within(transaction)
            for name, mark in ahead.items():
                ledger.set_mark(mark_for(self._jobs[name], mark, now_us))
        for name, mark in ahead.items():
            self._remember(self._jobs[name], mark_for(self._jobs[name], mark, now_us))

    def _due(self, now_us: int) -> tuple[list[Firing], list[Firing]]:
        """What has come due; and what has been before, on a clock that was set back since."""
        found, passed = [], []
        for name, next_us in self._next_us.items():
            if next_us > now_us:
                continue
            job = self._jobs[name]
            firing = plan(job, self._marks[name], now_us, self._settings.misfire_grace_seconds * SECOND_US)
            if firing is None:
                continue
            with self._store.reading() as ledger:
                known = ledger.firing(firing.firing_id)
            if known is not None:
                passed.append(firing)
            else:
                found.append(firing if firing.outcome is Outcome.PLANNED else replace(firing, finished_us=now_us))
        return found, passed

    def _commit(
        self,
        due: list[Firing],
        passed: list[Firing],
        replaced: list[Firing],
        late: list[Firing],
        going: list[Firing],
        now_us: int,
    ) -> list[Firing]:
        marks = {firing.job: replace(self._marks[firing.job], evaluated_us=firing.planned_us) for firing in (*due, *passed)}
        with self._store.state.transaction() as transaction:
            ledger = self._store.within(transaction)
            for mark in marks.values():
                ledger.set_mark(mark)
            for firing in due:
                ledger.put(firing)
            for firing in replaced:
                ledger.put(firing)
            for firing in late:
                stop(ledger, transaction, self._jobs.get(firing.job), firing, _too_long(self._jobs.get(firing.job)), now_us)
            fired = [fire(ledger, transaction, self._jobs[firing.job], firing, now_us) for firing in going]
            if now_us - self._pruned_us >= _DAY_US:
                ledger.prune(now_us - self._settings.history_days * _DAY_US)
        if now_us - self._pruned_us >= _DAY_US:
            self._pruned_us = now_us
        for name, mark in marks.items():
            self._remember(self._jobs[name], mark)
        return fired

    def _remember(self, job: Job, mark: JobMark) -> None:
        self._marks[job.name] = mark
        self._next_us[job.name] = to_us(next_firing(job.cron, from_us(mark.evaluated_us)))


def _replacing(due: list[Firing], waiting: list[Firing], now_us: int) -> tuple[list[Firing], list[Firing]]:
    """The due firings, each in the place of an earlier one of its job that still waits, and those earlier ones."""
    earlier = {firing.job: firing for firing in waiting if not firing.manual}
    fresh, replaced = [], []
    for firing in due:
        if firing.outcome is Outcome.PLANNED and firing.job in earlier:
            taken, gone = take_over(firing, earlier[firing.job], now_us)
            fresh.append(taken)
            replaced.append(gone)
        else:
            fresh.append(firing)
    return fresh, replaced


def _too_long(job: Job | None) -> str:
    if job is None:
        return "The job was taken off the schedule"
    return f"No end was reported within the job's maximum duration of {job.max_duration} s"

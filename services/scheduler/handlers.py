"""The scheduler's handlers: time, triggers by hand, reported ends, and questions about jobs."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import psutil

from aico_memory.clock import format_us
from aico_memory.contracts.envelope import Event, reply_record
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import sleep_pb2, working_pb2
from aico_memory.contracts.wire import StampedRecord
from aico_memory.domain.scheduling.idle import IdleRule, IdleState, is_idle, observe, wants_sample
from aico_memory.domain.scheduling.job import Firing, Job, Outcome
from aico_memory.domain.scheduling.plan import release
from aico_memory.errors import AicoMemoryError, InvalidMessage, NotFound
from aico_memory.ids import derive_id
from aico_memory.runtime.clocks import MANUAL, clock_mode
from aico_memory.runtime.ports import Handlers, Ports
from aico_memory.settings.scheduler import SchedulerSettings
from aico_memory.stores.scheduler.port import SchedulerLedger, SchedulerStore
from aico_memory.stores.scheduler.sql import SqlSchedulerStore
from services.scheduler.schedule import load_schedule
from services.scheduler.ticker import Ticker, fire
from services.scheduler.triggers import check_arguments, firing_message, job_message

TRIGGER = topic_of(sleep_pb2.TriggerJob).name
FINISHED = topic_of(sleep_pb2.JobFinished).name
COMPLETE = topic_of(sleep_pb2.ConsolidationComplete).name
JOBS = topic_of(sleep_pb2.JobsRequest).name
START = topic_of(sleep_pb2.ConsolidationStart).name
STORED = topic_of(working_pb2.Stored).name
# Firing ids of those who start a run by hand without asking the scheduler.
MANUAL_PREFIX = "manual/"
MAX_HISTORY = 1000
DEFAULT_HISTORY = 20


def build(ports: Ports) -> SchedulerHandlers:
    """The scheduler on its encrypted store, with an ear on whether anybody talks."""
    store = SqlSchedulerStore.open(ports.home.store("scheduler") / "scheduler.db", ports.vault.store_key("scheduler"))
    try:
        jobs = load_schedule(ports.home)
        psutil.cpu_percent(None)  # the first call only sets the point to measure from
        handlers = SchedulerHandlers(store, jobs, ports.settings.scheduler, ports.clock.now_us(), _load_of(ports))
        # Live only: what was said while this process was away cannot make the machine idle.
        ports.link.subscribe([STORED], handlers.hear)
    except BaseException:
        store.close()
        raise
    ports.log.info("schedule", enabled=sorted(name for name, job in jobs.items() if job.enabled))
    return handlers


def _load_of(ports: Ports) -> Callable[[], float]:
    """The processor's load in percent; under a clock that is turned by hand the machine's own says nothing."""
    if clock_mode(ports.home) == MANUAL:
        return lambda: 0.0
    return lambda: float(psutil.cpu_percent(None))


class SchedulerHandlers(Handlers):
    """One thread ticks and applies; answers read snapshots."""

    name = "scheduler"
    topics: Sequence[str] = (TRIGGER, FINISHED, COMPLETE)

    def __init__(
        self,
        store: SchedulerStore,
        jobs: Mapping[str, Job],
        settings: SchedulerSettings,
        now_us: int,
        load: Callable[[], float],
    ) -> None:
        self.state = store.state
        self.requests = {JOBS: self._answer_jobs}
        self._store = store
        self._jobs = jobs
        self._rule = IdleRule(settings.idle_cpu_percent, settings.idle_seconds, settings.idle_sample_seconds)
        self._idle = IdleState()
        self._load = load
        self._last_message_us = now_us
        self._now_us = now_us
        self._ticker = Ticker(store, jobs, settings, now_us)
        # Time of the last look at the clock, and the number of looks: who asks can tell that all due has been fired.
        self._looked_us = 0
        self._looks = 0

    def hear(self, record: StampedRecord) -> None:
        """Somebody has said something (called by the link's thread)."""
        self._last_message_us = max(self._last_message_us, record.received_us)

    def idle(self, now_us: int) -> None:
        self._now_us = now_us
        # A clock that was set back must not wait until it has come to the last message's time again.
        self._last_message_us = min(self._last_message_us, now_us)
        if wants_sample(self._idle, self._rule, now_us):
            self._idle = observe(self._idle, self._rule, now_us, self._load())
        self._ticker.tick(now_us, self._is_idle())
        self._looked_us = now_us
        self._looks += 1

    def apply(self, transaction: Any, event: Event) -> None:
        ledger = self._store.within(transaction)
        if event.topic == TRIGGER:
            self._trigger(transaction, ledger, event)
        elif event.topic == FINISHED:
            _close(ledger, event.message.firing_id, event.message.outcome, event.message.at_us or event.received_us,
                   event.message.detail)  # fmt: skip
        elif event.topic == COMPLETE:
            outcome = event.message.outcome
            _close(ledger, event.message.firing_id, "done" if outcome == "complete" else "failed",
                   event.message.finished_us or event.received_us, "" if outcome == "complete" else outcome)  # fmt: skip
            self._note_manual_run(ledger, event.message)

    def after_commit(self) -> None:
        self._ticker.invalidate()

    def status(self) -> dict[str, object]:
        enabled = [job for job in self._jobs.values() if job.enabled]
        upcoming = min(enabled, key=self._ticker.next_us, default=None)
        with self._store.reading() as ledger:
            waiting, running = ledger.waiting(), ledger.running()
        return {
            "jobs": len(self._jobs),
            "enabled": len(enabled),
            "next": {"job": upcoming.name, "at": format_us(self._ticker.next_us(upcoming))} if upcoming else None,
            "waiting": [firing.job for firing in waiting],
            "running": [firing.job for firing in running],
            "idle": self._is_idle(),
            "cpu_percent": self._idle.cpu_percent,
        }

    def close(self) -> None:
        self._store.close()

    def _is_idle(self) -> bool:
        return is_idle(self._idle, self._rule, self._last_message_us, self._now_us)

    def _trigger(self, transaction: Any, ledger: SchedulerLedger, event: Event) -> None:
        request = event.message
        now_us = event.received_us or event.occurred_us
        users, phases = tuple(request.user_ids), tuple(request.phases)
        try:
            job = self._triggerable(request.job)
            check_arguments(job, users, phases)
        except AicoMemoryError as error:
            if event.reply_to:
                transaction.emit(reply_record(event, error))
            return
        firing = Firing(derive_id(event.event_id, "firing"), job.name, now_us, manual=True, user_ids=users, phases=phases)
        ledger.put(firing)
        if release([firing], ledger.running(), self._jobs, now_us, idle=True):
            firing = fire(ledger, transaction, job, firing, now_us)
        if event.reply_to:
            transaction.emit(reply_record(event, firing_message(firing)))

    def _note_manual_run(self, ledger: SchedulerLedger, complete: sleep_pb2.ConsolidationComplete) -> None:
        """A run that somebody started past the scheduler belongs to the history as well."""
        job = next((one for one in self._jobs.values() if one.topic == START), None)
        if job is None or not complete.firing_id.startswith(MANUAL_PREFIX):
            return
        cause = uuid.UUID(complete.run_id)
        outcome = Outcome.DONE if complete.outcome == "complete" else Outcome.FAILED
        detail = "" if outcome is Outcome.DONE else complete.outcome
        times = (complete.started_us or complete.finished_us, complete.finished_us)
        ledger.put(Firing(derive_id(cause, "firing"), job.name, times[0], outcome, *times, manual=True, detail=detail))

    def _triggerable(self, name: str) -> Job:
        job = self._jobs.get(name)
        if job is None:
            raise NotFound(f"The schedule has no job {name!r}", f"The jobs are: {', '.join(sorted(self._jobs))}.")
        if job.awaiting:
            raise InvalidMessage(f"No worker acts on the job {name} yet: {job.awaiting}", "See `aico-memory jobs`.")
        return job

    def _answer_jobs(self, event: Event, ports: Ports) -> sleep_pb2.JobsPage:
        limit = min(event.message.history or DEFAULT_HISTORY, MAX_HISTORY)
        with self._store.reading() as ledger:
            last, history = ledger.last(), ledger.history(limit)
        ordered = sorted(self._jobs.values(), key=lambda job: (not job.enabled, job.name))
        return sleep_pb2.JobsPage(
            jobs=[job_message(job, self._ticker.next_us(job), last.get(job.name)) for job in ordered],
            firings=[firing_message(firing) for firing in history],
            idle=self._is_idle(),
            cpu_percent=self._idle.cpu_percent,
            looked_us=self._looked_us,
            looks=self._looks,
        )


def _close(ledger: SchedulerLedger, firing_id: str, outcome: str, at_us: int, detail: str) -> None:
    """Write down a reported end; the first report stands, except that a late one corrects a presumed failure."""
    try:
        firing = ledger.firing(uuid.UUID(firing_id))
    except ValueError:
        return
    if firing is None or firing.outcome is Outcome.DONE or (firing.outcome is Outcome.FAILED and outcome != "done"):
        return
    end = Outcome.DONE if outcome == "done" else Outcome.FAILED
    ledger.put(replace(firing, outcome=end, finished_us=max(at_us, 1), detail=detail))

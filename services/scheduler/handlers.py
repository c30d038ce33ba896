"""The scheduler's handlers: time, triggers by hand, reported ends, and questions about jobs."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import psutil
import structlog

from aico_memory.clock import format_us
from aico_memory.contracts.envelope import Event, reply_record
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import sleep_pb2, working_pb2
from aico_memory.contracts.wire import StampedRecord
from aico_memory.domain.scheduling.idle import IdleRule, IdleState, is_idle, observe, wants_sample
from aico_memory.domain.scheduling.job import Firing, Job, Outcome
from aico_memory.domain.scheduling.plan import release
from aico_memory.domain.sleep.names import night_told
from aico_memory.errors import AicoMemoryError, InvalidMessage, NotFound
from aico_memory.ids import derive_id
from aico_memory.runtime.clocks import MANUAL, clock_mode
from aico_memory.runtime.ports import Handlers, Ports
from aico_memory.settings.scheduler import SchedulerSettings
from aico_memory.stores.scheduler.port import SchedulerLedger, SchedulerStore
from aico_memory.stores.scheduler.sql import SqlSchedulerStore
from services.scheduler.ticker import Ticker, fire, stop
from services.scheduler.triggers import check_arguments, firing_message, job_message, schedule_message
from services.scheduler.watching import ScheduleState, ScheduleWatch

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

TRIGGER = topic_of(sleep_pb2.TriggerJob).name
CANCEL = topic_of(sleep_pb2.CancelJob).name
RELOAD = topic_of(sleep_pb2.ReloadSchedule).name
FINISHED = topic_of(sleep_pb2.JobFinished).name
COMPLETE = topic_of(sleep_pb2.ConsolidationComplete).name
JOBS = topic_of(sleep_pb2.JobsRequest).name
START = topic_of(sleep_pb2.ConsolidationStart).name
STORED = topic_of(working_pb2.Stored).name
# Firing ids of those who start a run by hand without asking the scheduler.
MANUAL_PREFIX = "manual/"
BY_HAND = "Cancelled by hand"
SCHEDULE_MEND = "Correct the key that is named: until then the schedule of before is in force, and a restart is refused."
MAX_HISTORY = 1000
DEFAULT_HISTORY = 20


def build(ports: Ports) -> SchedulerHandlers:
    """The scheduler on its encrypted store, with an ear on whether anybody talks."""
    store = SqlSchedulerStore.open(ports.home.store("scheduler") / "scheduler.db", ports.vault.store_key("scheduler"))
    try:
        watch = ScheduleWatch(ports.home, ports.clock.now_us())
        psutil.cpu_percent(None)  # the first call only sets the point to measure from
        handlers = SchedulerHandlers(
            store, watch.state.jobs, ports.settings.scheduler, ports.clock.now_us(), _load_of(ports), watch, ports.log
        )
        # Live only: what was said while this process was away cannot make the machine idle.
        ports.link.subscribe([STORED], handlers.hear)
    except BaseException:
        store.close()
        raise
    ports.log.info("schedule", enabled=sorted(name for name, job in watch.state.jobs.items() if job.enabled))
    return handlers


def _load_of(ports: Ports) -> Callable[[], float]:
    """The processor's load in percent; under a clock that is turned by hand the machine's own says nothing."""
    if clock_mode(ports.home) == MANUAL:
        return lambda: 0.0
    return lambda: float(psutil.cpu_percent(None))


class SchedulerHandlers(Handlers):
    """One thread ticks and applies; answers read snapshots."""

    name = "scheduler"
    topics: Sequence[str] = (TRIGGER, CANCEL, FINISHED, COMPLETE)

    def __init__(
        self,
        store: SchedulerStore,
        jobs: Mapping[str, Job],
        settings: SchedulerSettings,
        now_us: int,
        load: Callable[[], float],
        watch: ScheduleWatch | None = None,
        log: FilteringBoundLogger | None = None,
    ) -> None:
        self.state = store.state
        self.requests = {JOBS: self._answer_jobs, RELOAD: self._answer_reload}
        self._store = store
        self._jobs = jobs
        self._rule = IdleRule(settings.idle_cpu_percent, settings.idle_seconds, settings.idle_sample_seconds)
        self._idle = IdleState()
        self._load = load
        self._last_message_us = now_us
        self._now_us = now_us
        self._ticker = Ticker(store, jobs, settings, now_us)
        # Without one the schedule stays as it was given.
        self._watch = watch
        self._log = log or structlog.get_logger()
        self._watching = threading.Lock()
        self._reloaded = False
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
        self._look_at_schedule(now_us)
        self._ticker.tick(now_us, self._is_idle())
        self._looked_us = now_us
        self._looks += 1

    def apply(self, transaction: Any, event: Event) -> None:
        ledger = self._store.within(transaction)
        if event.topic == TRIGGER:
            self._trigger(transaction, ledger, event)
        elif event.topic == CANCEL:
            self._cancel(transaction, ledger, event)
        elif event.topic == FINISHED:
            _close(ledger, event.message.firing_id, event.message.outcome, event.message.at_us or event.received_us,
                   event.message.detail)  # fmt: skip
        elif event.topic == COMPLETE:
            # A firing of ours is closed by its JobFinished, which says what came of it.
            self._note_manual_run(ledger, event.message)

    def after_commit(self) -> None:
        self._ticker.invalidate()

    def status(self) -> dict[str, object]:
        enabled = [job for job in self._jobs.values() if job.enabled]
        upcoming = min(enabled, key=self._ticker.next_us, default=None)
        with self._store.reading() as ledger:
            waiting, running = ledger.waiting(), ledger.running()
        wrong = self._watch.state.error if self._watch is not None else ""
        return {
            "alarms": [{"code": "schedule_not_in_force", "detail": wrong, "mend": SCHEDULE_MEND}] if wrong else [],
            "jobs": len(self._jobs),
            "enabled": len(enabled),
            "next": {"job": upcoming.name, "at": format_us(self._ticker.next_us(upcoming))} if upcoming else None,
            "waiting": [firing.job for firing in waiting],
            "running": [firing.job for firing in running],
            "schedule_error": wrong,
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

    def _cancel(self, transaction: Any, ledger: SchedulerLedger, event: Event) -> None:
        """End what runs, and where nothing does take off what waits."""
        request = event.message
        now_us = event.received_us or event.occurred_us

        def meant(firing: Firing) -> bool:
            if request.firing_id:
                return str(firing.firing_id) == str(request.firing_id)
            return firing.job == str(request.job)

        running = next(filter(meant, ledger.running()), None)
        waiting = next(filter(meant, ledger.waiting()), None)
        answer: sleep_pb2.JobFiring | AicoMemoryError
        if running is not None:
            ended = stop(ledger, transaction, self._jobs.get(running.job), running, BY_HAND, now_us)
            answer = firing_message(ended)
        elif waiting is not None:
            gone = replace(waiting, outcome=Outcome.MISSED, finished_us=max(now_us, 1), detail=BY_HAND)
            ledger.put(gone)
            answer = firing_message(gone)
        else:
            named = request.firing_id or request.job or "nothing"
            answer = NotFound(f"No firing of {named} runs or waits", "See `aico-memory jobs`.")
        if event.reply_to:
            transaction.emit(reply_record(event, answer))

    def _look_at_schedule(self, now_us: int) -> None:
        """Take over what the file says now; a wrong one is told once and changes nothing."""
        if self._watch is None:
            return
        with self._watching:
            error = self._watch.state.error
            changed = self._watch.look(now_us) or self._reloaded
            self._reloaded = False
            state = self._watch.state
        if state.error and state.error != error:
            self._log.warning("schedule_not_in_force", path=state.path, detail=state.error)
        if changed:
            self._jobs = state.jobs
            self._ticker.replace(state.jobs, now_us)
            self._log.info("schedule_reloaded", path=state.path, changed=state.changed)

    def _answer_reload(self, event: Event, ports: Ports) -> sleep_pb2.ScheduleState:
        """Read the file now; the next tick takes it over."""
        if self._watch is None:
            return schedule_message(ScheduleState(self._jobs))
        with self._watching:
            self._reloaded = self._watch.look(self._now_us, again=True) or self._reloaded
            return schedule_message(self._watch.state)

    def _note_manual_run(self, ledger: SchedulerLedger, complete: sleep_pb2.ConsolidationComplete) -> None:
        """A run that somebody started past the scheduler belongs to the history as well."""
        job = next((one for one in self._jobs.values() if one.topic == START), None)
        if job is None or not complete.firing_id.startswith(MANUAL_PREFIX):
            return
        cause = uuid.UUID(complete.run_id)
        outcome = Outcome.DONE if complete.outcome == "complete" else Outcome.FAILED
        if outcome is Outcome.DONE:
            detail = night_told(complete.users, complete.experiences, (phase.counts for phase in complete.phases))
        else:
            detail = complete.error or complete.outcome
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
            running = {firing.job: firing for firing in ledger.running()}
        ordered = sorted(self._jobs.values(), key=lambda job: (not job.enabled, job.name))
        return sleep_pb2.JobsPage(
            jobs=[job_message(job, self._ticker.next_us(job), last.get(job.name), running.get(job.name)) for job in ordered],
            firings=[firing_message(firing) for firing in history],
            idle=self._is_idle(),
            cpu_percent=self._idle.cpu_percent,
            looked_us=self._looked_us,
            looks=self._looks,
            schedule=schedule_message(self._watch.state if self._watch is not None else ScheduleState(self._jobs)),
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

"""Drives the current run: asks, decides, and takes each step in a transaction with what it says.

The store is the truth: whatever is held in memory here can be lost at any
moment and is asked for again.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from aico_memory.contracts.v1 import working_pb2
from aico_memory.domain.consolidation.decide import (
    SECOND_US,
    CutBatches,
    FinishRun,
    FinishUser,
    NextPhase,
    SendBatch,
    StartUser,
    Step,
    UserView,
    decide,
)
from aico_memory.domain.consolidation.replay import Experience, batches, replay_order
from aico_memory.domain.consolidation.run import Batch, PhaseRun, Run, Status, UserRun, require_transition
from aico_memory.domain.consolidation.shard import Phase, phases_of
from aico_memory.errors import NotFound
from aico_memory.ids import stable_hash64
from aico_memory.runtime.ports import LinkPort
from aico_memory.settings.consolidation import ConsolidationSettings
from aico_memory.stores.consolidation.port import ConsolidationLedger, ConsolidationStore
from services.consolidation.messages import complete_records, replay_record
from services.consolidation.questions import Questions

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

REPLAY = "replay"
# The phases that exist; the heavy ones of sleep come after replay.
PHASES = (Phase(REPLAY),)
# Steps taken in a row before other work gets its turn.
STEPS_AT_ONCE = 64
DAY_US = 86_400 * SECOND_US
# How often it is looked whether working memory has caught up.
GATE_SECONDS = 0.2


def finish(ledger: ConsolidationLedger, transaction: Any, run: Run, status: Status, error: str, now_us: int) -> Run:
    """End a run and say so."""
    require_transition(run.status, status)
    ended = replace(run, status=status, error=error, finished_us=now_us)
    ledger.put_run(ended)
    users = sum(ledger.user_counts(run.run_id).values())
    for record in complete_records(ended, users, ledger.totals(run.run_id)):
        transaction.emit(record)
    return ended


class Saga:
    """One run at a time, in the order of their starts."""

    def __init__(
        self,
        store: ConsolidationStore,
        link: LinkPort,
        settings: ConsolidationSettings,
        monotonic: Callable[[], float],
        log: FilteringBoundLogger,
    ) -> None:
        self._store = store
        self._link = link
        self._settings = settings
        self._log = log
        self._questions = Questions(settings.retry_seconds, monotonic, log)
        self._run: Run | None = None
        self._views: list[UserView] = []
        self._waiting: list[UserRun] = []
        self._stale = True
        # Global sequence that working memory must have applied before it is asked anything; -1: not known yet.
        self._gate = -1
        self._gathered: dict[str, list[Experience]] = {}
        self._last_of: dict[str, bytes] = {}

    def changed(self) -> None:
        """The store has changed beside the saga."""
        self._stale = True

    def step(self, now_us: int) -> None:
        """Go as far as can be gone without waiting."""
        for _ in range(STEPS_AT_ONCE):
            if self._stale:
                self._read()
            run = self._run
            if run is None or not self._advance(run, now_us):
                return

    def _read(self) -> None:
        with self._store.reading() as ledger:
            run = ledger.current()
            if run is not None and run.status is Status.ACTIVE:
                self._views = ledger.views(run.run_id)
                self._waiting = ledger.waiting(run.run_id, self._settings.users_at_once)
        if run is None or self._run is None or run.run_id != self._run.run_id:
            self._questions.forget()
            self._gate = -1
            self._gathered.clear()
            self._last_of.clear()
        self._run = run
        self._stale = False

    def _advance(self, run: Run, now_us: int) -> bool:
        """One step of the run; False where it has to wait."""
        if run.status is Status.WAITING:
            return self._begin(run, now_us)
        if run.status is Status.PLANNING:
            return self._collect_users(run, now_us)
        return self._work(run, now_us)

    def _begin(self, run: Run, now_us: int) -> bool:
        """Wait until working memory knows everything that was said before the start, and the run before this one.

        Else which experiences the run finds would depend on who is faster.
        """
        if self._store.state.outgoing(1):
            return False
        answer = self._questions.poll("gate", lambda: self._link.control("consumers", {}))
        if answer is None:
            return False
        working = next((one for one in answer.get("consumers", []) if one["name"] == "working"), None)
        if working is not None and self._gate < 0:
            heads = answer.get("topics", {})
            self._gate = max((int(heads[topic][0]) for topic in working["topics"] if topic in heads), default=0)
        if working is None or int(working["applied"]) < self._gate:
            self._questions.later("gate", GATE_SECONDS)
            return False
        self._put(replace(run, status=Status.PLANNING, started_us=now_us))
        return True

    def _collect_users(self, run: Run, now_us: int) -> bool:
        if run.user_ids:
            self._plan_users(run, sorted({(user, 0) for user in run.user_ids}), done=True)
            return True
        if now_us - run.started_us > self._settings.budget_seconds * SECOND_US:
            self._end(run, Status.FAILED, "Working memory did not name the users within the time budget", now_us)
            return True
        request = working_pb2.PendingUsersRequest(limit=self._settings.page_size, after=run.planned_after)
        page = self._questions.poll(("users", run.planned_after), lambda: self._ask(request))
        if page is None:
            return False
        users = [(one.user_id, one.pending) for one in page.users if one.oldest_us < run.until_us]
        self._plan_users(run, users, done=not page.users, after=page.users[-1].user_id if page.users else "")
        return True

    def _plan_users(self, run: Run, users: list[tuple[str, int]], *, done: bool, after: str = "") -> None:
        parts = [
            UserRun(user, pending, phases=tuple(phases_of(user, run.shard, PHASES, run.phases))) for user, pending in users
        ]
        with self._store.state.transaction() as transaction:
            ledger = self._store.within(transaction)
            ledger.add_users(run.run_id, parts)
            ledger.put_run(replace(run, planned_after=after, status=Status.ACTIVE if done else run.status))
        self._stale = True

    def _work(self, run: Run, now_us: int) -> bool:
        waiting = [part.user for part in self._waiting]
        settings = self._settings
        steps = decide(self._views, waiting, settings.users_at_once, run.started_us, now_us, settings.budget_seconds)
        ready = [step for step in steps if not isinstance(step, CutBatches) or self._gather(run, step.user)]
        if not ready:
            return False
        parts = {view.part.user: view.part for view in self._views} | {part.user: part for part in self._waiting}
        with self._store.state.transaction() as transaction:
            ledger = self._store.within(transaction)
            for step in ready:
                self._take(ledger, transaction, run, parts, step, now_us)
        self._stale = True
        return True

    def _take(
        self, ledger: ConsolidationLedger, transaction: Any, run: Run, parts: dict[str, UserRun], step: Step, now_us: int
    ) -> None:
        if isinstance(step, StartUser):
            ledger.put_user(run.run_id, replace(parts[step.user], status=Status.ACTIVE, started_us=now_us))
        elif isinstance(step, CutBatches):
            self._cut(ledger, run, step, now_us)
        elif isinstance(step, SendBatch):
            batch = ledger.batch(run.run_id, step.user, step.phase, step.number)
            if batch is not None:
                ledger.put_batch(run.run_id, replace(batch, status=Status.ACTIVE, sent_us=now_us))
                transaction.emit(replay_record(run, batch, now_us))
        elif isinstance(step, NextPhase):
            part = parts[step.user]
            phase = ledger.phase(run.run_id, step.user, part.phases[part.phase])
            if phase is not None:
                ledger.put_phase(run.run_id, replace(phase, status=Status.DONE, finished_us=now_us))
            ledger.put_user(run.run_id, replace(part, phase=step.phase))
        elif isinstance(step, FinishUser):
            ledger.put_user(run.run_id, replace(parts[step.user], status=Status.DONE, finished_us=now_us))
        elif isinstance(step, FinishRun):
            finish(ledger, transaction, run, step.status, step.error, now_us)
            ledger.prune(now_us - self._settings.history_days * DAY_US)

    def _gather(self, run: Run, user: str) -> bool:
        """Read the user's pending experiences page by page; True once all are there."""
        limit = self._settings.page_size
        after = self._last_of.get(user, b"")
        request = working_pb2.ExperiencesRequest(user_id=user, limit=limit, until_us=run.until_us, after_event_id=after)
        try:
            page = self._questions.poll(("experiences", user), lambda: self._ask(request, user))
        except NotFound:
            # The experience the next page hangs on has just expired: from the beginning.
            self._gathered.pop(user, None)
            self._last_of.pop(user, None)
            self._questions.later(("experiences", user))
            return False
        if page is None:
            return False
        found = self._gathered.setdefault(user, [])
        for message in page.messages:
            # Receipts may share a microsecond; the bus's order tells them apart.
            if message.sequence < run.sequence:
                found.append(Experience(message.event_id, message.received_at_us, has_feedback=message.has_feedback))
        if page.messages and (page.cut or len(page.messages) >= limit):
            self._last_of[user] = page.messages[-1].event_id
            return self._gather(run, user)
        return True

    def _cut(self, ledger: ConsolidationLedger, run: Run, step: CutBatches, now_us: int) -> None:
        experiences = self._gathered.pop(step.user, [])
        self._last_of.pop(step.user, None)
        draw = random.Random(stable_hash64(f"{run.run_id}/{step.user}")).random
        ordered = [one.event_id for one in replay_order(experiences, run.until_us, draw, self._settings.alpha)]
        parts = [
            Batch(step.user, step.phase, number, event_ids)
            for number, event_ids in enumerate(batches(ordered, self._settings.batch_size))
        ]
        ledger.cut(run.run_id, PhaseRun(step.user, step.phase, experiences=len(ordered), started_us=now_us), parts)

    def _ask(self, message: Any, user: str = "") -> Future[Any]:
        return self._link.request(message, user=user, timeout=self._settings.request_seconds)

    def _put(self, run: Run) -> None:
        with self._store.state.transaction() as transaction:
            self._store.within(transaction).put_run(run)
        self._stale = True

    def _end(self, run: Run, status: Status, error: str, now_us: int) -> None:
        with self._store.state.transaction() as transaction:
            finish(self._store.within(transaction), transaction, run, status, error, now_us)
        self._stale = True

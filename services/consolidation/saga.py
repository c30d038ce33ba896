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

from aico_memory.contracts.v1 import sleep_pb2
from aico_memory.domain.consolidation.decide import (
    SECOND_US,
    FinishRun,
    FinishUser,
    OpenPhase,
    StartUser,
    Step,
    UserView,
    decide,
)  # fmt: skip
from aico_memory.domain.consolidation.replay import replay_order
from aico_memory.domain.consolidation.run import Run, Status, UserRun
from aico_memory.domain.sleep.names import REPLAY
from aico_memory.ids import stable_hash64
from aico_memory.runtime.ports import LinkPort
from aico_memory.settings.consolidation import ConsolidationSettings
from aico_memory.stores.consolidation.port import ConsolidationStore
from services.consolidation.gates import Gates
from services.consolidation.gathering import Gathering
from services.consolidation.planning import Planning, held_counts, needs_memories
from services.consolidation.questions import Questions
from services.consolidation.steps import Steps

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

# Steps taken in a row before other work gets its turn.
STEPS_AT_ONCE = 64


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
        self._questions = Questions(settings.retry_seconds, monotonic, log)
        self._gates = Gates(link, self._questions, monotonic, settings.settle_seconds)
        self._planning = Planning(self._ask, self._questions, settings)
        self._gathering = Gathering(self._ask, self._questions, settings)
        self._run: Run | None = None
        self._views: list[UserView] = []
        self._waiting: list[UserRun] = []
        self._measured: dict[str, dict[str, int]] = {}
        self._stale = True

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
            self._gates.forget()
            self._gathering.forget()
            self._measured.clear()
        self._run = run
        self._stale = False

    def _advance(self, run: Run, now_us: int) -> bool:
        """One step of the run; False where it has to wait."""
        if run.status is Status.WAITING:
            return self._begin(run, now_us)
        if run.status is Status.PLANNING:
            return self._plan(run, now_us)
        return self._work(run, now_us)

    def _begin(self, run: Run, now_us: int) -> bool:
        """Wait until the others know everything that was said before the start, and the run before this one.

        Else which experiences the run finds, and what they resemble, would depend on who is faster.
        """
        if self._store.state.outgoing(1) or not self._gates.working_knows("start"):
            return False
        if not self._gates.semantic_is_settled("start"):
            return False
        with self._store.state.transaction() as transaction:
            self._store.within(transaction).put_run(replace(run, status=Status.PLANNING, started_us=now_us))
        self._stale = True
        return True

    def _plan(self, run: Run, now_us: int) -> bool:
        late = now_us - run.started_us > self._settings.budget_seconds * SECOND_US
        page = None if late else self._planning.next_page(run)
        if page is None and not late:
            return False
        with self._store.state.transaction() as transaction:
            ledger = self._store.within(transaction)
            if page is not None:
                self._planning.write(ledger, page)
            else:
                error = "The users were not named within the time budget"
                Steps(ledger, transaction, run, self._settings).finish_run(Status.FAILED, error, now_us)
        self._stale = True
        return True

    def _work(self, run: Run, now_us: int) -> bool:
        waiting = [part.user for part in self._waiting]
        settings = self._settings
        todo = decide(self._views, waiting, settings.users_at_once, run.started_us, now_us, settings.budget_seconds)
        ready = [step for step in todo if self._is_ready(run, step)]
        if not ready:
            return False
        parts = {view.part.user: view.part for view in self._views} | {part.user: part for part in self._waiting}
        with self._store.state.transaction() as transaction:
            steps = Steps(self._store.within(transaction), transaction, run, settings)
            for step in ready:
                self._take(steps, run, parts, step, now_us)
        self._stale = True
        return True

    def _is_ready(self, run: Run, step: Step) -> bool:
        """Whether all is there that the step needs from others; asks for it."""
        if isinstance(step, OpenPhase):
            if step.phase == REPLAY:
                return self._gathering.gather(run, step.user)
            # What was replayed just now is to be there with its vectors.
            return self._gates.semantic_is_settled(("replayed", step.user))
        return not isinstance(step, FinishUser) or self._measure(run, step.user)

    def _take(self, steps: Steps, run: Run, parts: dict[str, UserRun], step: Step, now_us: int) -> None:
        if isinstance(step, FinishRun):
            steps.finish_run(step.status, step.error, now_us)
        elif isinstance(step, FinishUser):
            steps.finish_user(parts[step.user], self._measured.pop(step.user, {}), now_us)
        elif isinstance(step, StartUser):
            steps.start_user(parts[step.user], now_us)
            steps.lead_on(step.user, now_us, heavy=False)
        elif isinstance(step, OpenPhase):
            steps.open_phase(step.user, step.phase, self._order(run, step), now_us)
            steps.lead_on(step.user, now_us, heavy=step.phase != REPLAY)
        else:
            steps.lead_on(step.user, now_us, heavy=False)

    def _order(self, run: Run, step: OpenPhase) -> list[bytes]:
        if step.phase != REPLAY:
            return []
        draw = random.Random(stable_hash64(f"{run.run_id}/{step.user}")).random
        experiences = self._gathering.take(step.user)
        return [one.event_id for one in replay_order(experiences, run.until_us, draw, self._settings.alpha)]

    def _measure(self, run: Run, user: str) -> bool:
        """Ask what is held of a user at the end; a report can do without."""
        if user in self._measured or not needs_memories(run):
            return True
        key = ("held", user)
        if self._questions.failed(key) >= self._settings.ask_times:
            return True
        page = self._questions.poll(key, lambda: self._ask(sleep_pb2.SleepersRequest(user_ids=[user], limit=1)))
        if page is None:
            return False
        self._measured[user] = next((dict(held_counts(one)) for one in page.users if one.user_id == user), {})
        return True

    def _ask(self, message: Any, user: str = "") -> Future[Any]:
        return self._link.request(message, user=user, timeout=self._settings.request_seconds)

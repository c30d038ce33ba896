"""Answers about runs, about what waits, and about how long it would take."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import sleep_pb2, working_pb2
from aico_memory.domain.consolidation.cycle import Night, heavy_is_due
from aico_memory.domain.consolidation.estimate import Cost, expected_seconds, rate_of
from aico_memory.domain.consolidation.run import FINAL, Run, Status
from aico_memory.domain.consolidation.shard import shard_of
from aico_memory.domain.sleep.names import NAMES, REPLAY, require_phases
from aico_memory.errors import AccessDenied, NotFound
from aico_memory.runtime.ports import LinkPort, Ports
from aico_memory.settings.consolidation import ConsolidationSettings
from aico_memory.stores.consolidation.port import ConsolidationLedger, ConsolidationStore
from services.consolidation.messages import run_message
from services.consolidation.planning import held_counts
from services.consolidation.steps import held_of, samples_of

MAX_RUNS = 1000
DEFAULT_RUNS = 20
# More than this are not shown by name.
MAX_AT_WORK = 100
RUNS_MEND = "`aico-memory sleep runs` lists those that are kept."


class Answers:
    """Reads snapshots of the ledger; asks the owners for what it does not hold."""

    def __init__(self, store: ConsolidationStore, link: LinkPort, settings: ConsolidationSettings) -> None:
        self._store = store
        self._link = link
        self._settings = settings

    def runs(self, event: Event, ports: Ports) -> sleep_pb2.RunsPage:
        """The last runs, or one."""
        request = event.message
        with self._store.reading() as ledger:
            if request.run_id or request.firing_id:
                run = run_named(ledger, request.run_id) if request.run_id else ledger.run_of(request.firing_id)
                if run is None:
                    raise NotFound(
                        f"There is no run {request.run_id or 'of the firing ' + request.firing_id}",
                        RUNS_MEND,
                    )
                runs = [run]
            else:
                runs = ledger.runs(min(request.limit or DEFAULT_RUNS, MAX_RUNS))
            found = [brief_run(ledger, run) if request.brief else self._told(ledger, run) for run in runs]
        # Whoever hears "complete" may rely on working memory having been told: a run whose last words are still on
        # their way to the bus goes on.
        if self._store.state.outgoing(1):
            for run_shown in found:
                if run_shown.status == Status.DONE.value:
                    run_shown.status = Status.ACTIVE.value
        return sleep_pb2.RunsPage(runs=found)

    def status(self, event: Event, ports: Ports) -> sleep_pb2.SleepStatus:
        """What goes on; and where a user stands in the cycle."""
        user = _named(event)
        with self._store.reading() as ledger:
            run = ledger.current()
            last = next((one for one in ledger.runs(DEFAULT_RUNS) if one.status in FINAL), None)
            known = ledger.cycles([user]).get(user) if user else None
            views = ledger.views(run.run_id) if run is not None else []
            at_work = [
                sleep_pb2.UserAtWork(
                    user_id=view.part.user,
                    phase=view.part.phases[view.part.phase] if view.part.phase < len(view.part.phases) else "",
                    steps=max(0, view.next_batch),
                    phases_done=view.part.phase,
                    phases=len(view.part.phases),
                    started_us=view.part.started_us,
                )
                for view in views[:MAX_AT_WORK]
                if not event.user or view.part.user == event.user
            ]
            # What a run did tells of everybody it was for, and so may why it failed.
            told = _for_one if event.user else self._told
            return sleep_pb2.SleepStatus(
                status=run.status.value if run is not None else "idle",
                run=told(ledger, run) if run is not None else None,
                at_work=at_work,
                last=told(ledger, last) if last is not None else None,
                seen_us=known.seen_us if known is not None else 0,
                replayed_us=known.replayed_us if known is not None else 0,
                full_us=known.full_us if known is not None else 0,
                shard=shard_of(user) if user else 0,
            )

    def pending(self, event: Event, ports: Ports) -> sleep_pb2.PendingPage:
        """Who has experiences that wait."""
        user = _named(event)
        request = event.message
        limit = min(request.limit or self._settings.page_size, self._settings.page_size)
        page = self._ask(working_pb2.PendingUsersRequest(limit=limit, after=request.after, user_id=user))
        users = [sleep_pb2.Pending(user_id=one.user_id, experiences=one.pending, oldest_us=one.oldest_us) for one in page.users]
        return sleep_pb2.PendingPage(users=users, next=users[-1].user_id if not user and len(users) == limit else "")

    def estimate(self, event: Event, ports: Ports) -> sleep_pb2.Estimate:
        """How long a run would take, reckoned from runs before it. InvalidMessage for a phase that there is not."""
        request = event.message
        require_phases(request.phases)
        named = set(request.user_ids)
        pending, items, last_page = dict[str, int](), dict[str, int](), False
        after = ""
        while not last_page:
            page = self._ask(working_pb2.PendingUsersRequest(limit=self._settings.page_size, after=after))
            pending |= {one.user_id: one.pending for one in page.users if not named or one.user_id in named}
            last_page = not page.users
            after = page.users[-1].user_id if page.users else ""
        phases = tuple(request.phases) or NAMES
        if set(phases) != {REPLAY}:
            items = self._items(named)
        night = Night(request.shard, ports.clock.now_us(), tuple(request.phases), request.manual or bool(named), self._active)
        with self._store.reading() as ledger:
            users = sorted({*pending, *items})
            cycles = ledger.cycles(users)
            full = [user for user in users if heavy_is_due(user, pending.get(user, 0), cycles.get(user), night)]
            costs = self._costs(ledger)
        if request.phases:
            full = users
        units = {name: sum(items.get(user, 0) for user in full) for name in phases} | {REPLAY: sum(pending.values())}
        guesses = {REPLAY: self._settings.guessed_seconds_per_experience}
        rates = [rate_of(name, costs, guesses.get(name, self._settings.guessed_seconds_per_item)) for name in phases]
        told = [
            sleep_pb2.PhaseEstimate(phase=rate.phase, seconds=expected_seconds(rate, units[rate.phase]), runs=rate.runs)
            for rate in rates
        ]
        return sleep_pb2.Estimate(
            users=len({*pending, *full}),
            full=len(full),
            experiences=sum(pending.values()),
            items=sum(items.get(user, 0) for user in full),
            seconds=sum(one.seconds for one in told),
            phases=told,
            budget_seconds=self._settings.budget_seconds,
        )

    @property
    def _active(self) -> int:
        return self._settings.active_experiences

    def _items(self, named: set[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        after = ""
        while True:
            request = sleep_pb2.SleepersRequest(limit=self._settings.page_size, after=after, user_ids=sorted(named))
            page = self._ask(request)
            for one in page.users:
                counts = held_counts(one)
                found[one.user_id] = counts["active"] + counts["dormant"]
            if not page.next:
                return found
            after = page.next

    def _costs(self, ledger: ConsolidationLedger) -> list[Cost]:
        costs: list[Cost] = []
        done = [run for run in ledger.runs(self._settings.estimate_runs) if run.status is Status.DONE]
        for run in done:
            held = ledger.user_totals(run.run_id)[0]
            items = held.get("active", 0) + held.get("dormant", 0)
            for total in ledger.totals(run.run_id):
                units = total.replayed if total.phase == REPLAY else items
                beside = min(self._settings.users_at_once, total.users)
                costs.append(Cost(total.phase, total.microseconds / 1e6, units, beside))
        return costs

    def _told(self, ledger: ConsolidationLedger, run: Run) -> sleep_pb2.Run:
        totals = ledger.totals(run.run_id)
        samples = samples_of(ledger, run, self._settings)
        return run_message(run, ledger.user_counts(run.run_id), totals, samples, held_of(ledger, run))

    def _ask(self, message: Any) -> Any:
        seconds = self._settings.request_seconds
        return self._link.request(message, user="", timeout=seconds).result(seconds + 1)


def brief_run(ledger: ConsolidationLedger, run: Run) -> sleep_pb2.Run:
    """A run without what its phases did."""
    return run_message(run, ledger.user_counts(run.run_id), (), {}, ({}, {}))


def _for_one(ledger: ConsolidationLedger, run: Run) -> sleep_pb2.Run:
    return brief_run(ledger, replace(run, error=""))


def run_named(ledger: ConsolidationLedger, run_id: str) -> Run | None:
    """The run of this id; None also where it is no id at all."""
    try:
        return ledger.run(uuid.UUID(run_id))
    except ValueError:
        return None


def _named(event: Event) -> str:
    """The user a question is about; whoever speaks for one user asks about that one only."""
    user: str = event.message.user_id
    if event.user and user != event.user:
        raise AccessDenied(f"A question in the name of {event.user} cannot ask about {user or 'everybody'}")
    return user

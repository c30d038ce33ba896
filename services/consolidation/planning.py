"""Who sleeps tonight: those with pending experiences, and those of the long-term memory whose turn it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

from aico_memory.contracts.v1 import sleep_pb2, working_pb2
from aico_memory.domain.consolidation.cycle import Cycle, Night, nights_overdue, phases_tonight
from aico_memory.domain.consolidation.run import PENDING_STAGE, SLEEPERS_STAGE, Counts, Run, Status, UserRun
from aico_memory.domain.sleep.names import PHASES, REPLAY
from aico_memory.settings.consolidation import ConsolidationSettings
from aico_memory.stores.consolidation.port import ConsolidationLedger
from services.consolidation.questions import Questions

Ask = Callable[[Any, str], Future[Any]]


@dataclass(frozen=True, slots=True)
class Sleepers:
    """One page of users: how much is pending (-1: not known), or what is held of them."""

    pending: dict[str, int]
    held: dict[str, Counts]
    # What planning goes on with.
    run: Run


def night_of(run: Run, settings: ConsolidationSettings) -> Night:
    """What this run asks for."""
    return Night(run.shard, run.until_us, run.phases, run.manual, settings.active_experiences)


def needs_memories(run: Run) -> bool:
    """Whether anything but replay may happen, so that long-term memory is asked who it knows."""
    return set(run.phases) != {REPLAY}


def held_counts(sleeper: sleep_pb2.Sleeper) -> Counts:
    """What long-term memory holds of one user."""
    return {
        "active": sleeper.active,
        "dormant": sleeper.dormant,
        "ended": sleeper.ended,
        "records": sleeper.records,
        **sleeper.shares,
    }


class Planning:
    """Asks for the next page of users; writes it into the ledger."""

    def __init__(self, ask: Ask, questions: Questions, settings: ConsolidationSettings) -> None:
        self._ask = ask
        self._questions = questions
        self._settings = settings

    def next_page(self, run: Run) -> Sleepers | None:
        """The next page; None while its answer is under way."""
        if run.planned_stage == PENDING_STAGE:
            return self._named(run) if run.user_ids else self._pending(run)
        return self._sleepers(run)

    def write(self, ledger: ConsolidationLedger, page: Sleepers) -> None:
        """Add the users of a page whose night it is, and note what is held of them."""
        run = page.run
        night = night_of(run, self._settings)
        users = sorted({*page.pending, *page.held})
        cycles = ledger.cycles(users)
        for user in users:
            known = cycles.get(user)
            if known is None:
                ledger.put_cycle(Cycle(user, run.until_us))
            part = ledger.user(run.run_id, user)
            if part is not None:
                ledger.put_user(run.run_id, replace(part, before=page.held.get(user, part.before)))
                continue
            pending = page.pending.get(user, 0)
            phases = phases_tonight(user, pending, known, night, PHASES)
            if phases:
                late = nights_overdue(user, known, night)
                before = page.held.get(user, {})
                part = UserRun(user, max(0, pending), phases=tuple(phases), before=before, overdue=late)
                ledger.add_users(run.run_id, [part])
        ledger.put_run(run)

    def _named(self, run: Run) -> Sleepers:
        return Sleepers(dict.fromkeys(run.user_ids, -1), {}, self._behind_pending(run))

    def _pending(self, run: Run) -> Sleepers | None:
        request = working_pb2.PendingUsersRequest(limit=self._settings.page_size, after=run.planned_after)
        page = self._questions.poll(("users", run.planned_after), lambda: self._ask(request, ""))
        if page is None:
            return None
        pending = {one.user_id: one.pending for one in page.users if one.oldest_us < run.until_us}
        if not page.users:
            return Sleepers(pending, {}, self._behind_pending(run))
        return Sleepers(pending, {}, replace(run, planned_after=page.users[-1].user_id))

    def _behind_pending(self, run: Run) -> Run:
        if needs_memories(run):
            return replace(run, planned_stage=SLEEPERS_STAGE, planned_after="")
        return _planned(run)

    def _sleepers(self, run: Run) -> Sleepers | None:
        limit = self._settings.page_size
        names = _after(run.user_ids, run.planned_after, limit)
        if run.user_ids and not names:
            return Sleepers({}, {}, _planned(run))
        after = "" if names else run.planned_after
        request = sleep_pb2.SleepersRequest(limit=limit, after=after, user_ids=names)
        page = self._questions.poll(("sleepers", run.planned_after), lambda: self._ask(request, ""))
        if page is None:
            return None
        held = {one.user_id: held_counts(one) for one in page.users}
        following = page.next or (names[-1] if names else "")
        return Sleepers({}, held, replace(run, planned_after=following) if following else _planned(run))


def _planned(run: Run) -> Run:
    return replace(run, status=Status.ACTIVE, planned_after="")


def _after(users: Sequence[str], after: str, limit: int) -> list[str]:
    return [user for user in sorted(set(users)) if user > after][:limit]

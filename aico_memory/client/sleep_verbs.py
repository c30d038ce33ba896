"""Verbs on sleep: what it does, what waits, how long it would take, what it did; jobs."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Sequence
from typing import Any

from aico_memory.bus.read_only import WriteStop
from aico_memory.client.session import Session
from aico_memory.client.validation import checked_count, checked_id, checked_names, checked_seconds, checked_text
from aico_memory.contracts.v1 import sleep_pb2
from aico_memory.domain.sleep.names import require_phases
from aico_memory.errors import DeadlineExceeded, InvalidMessage, NotFound
from aico_memory.ids import new_id
from aico_memory.runtime.sleep_accounts import (
    estimate_account,
    firing_account,
    jobs_account,
    pending_account,
    run_account,
    status_account,
)

_LOOK_SECONDS = 0.1
MAX_HISTORY = 1000
_ENDED = frozenset({"complete", "cancelled", "failed"})
_PAGE = 500


class SleepVerbs:
    """Verbs on sleep and on the jobs of the schedule."""

    _session: Session

    async def sleep_now(
        self,
        user_id: str | Sequence[str] | None = None,
        phases: Sequence[str] | None = None,
        wait: bool = False,
        timeout_seconds: float = 600.0,
    ) -> dict[str, Any]:
        """Consolidate now (all users, or these). With `wait` returns the finished run, else its firing id at once.

        `phases`: only these, in their own order; else replay and everything behind it, whatever the day.
        Raises InvalidMessage for one that there is not, ReadOnly where all writing is stopped.
        """
        timeout_seconds = checked_seconds(timeout_seconds, "timeout_seconds")
        now_us = self._session.clock.now_us()
        event_id = new_id(now_us)
        start = sleep_pb2.ConsolidationStart(
            firing_id=f"manual/{event_id}",
            planned_at_us=now_us,
            user_ids=[self._session.user(user) for user in checked_names(user_id, "user_id")],
            phases=_checked_phases(phases),
            manual=True,
        )
        # What is written down only after the stop has ended is no sleep of now.
        stop = WriteStop(**await self._session.control("read_only_state", {}))
        if stop.on:
            raise stop.error()
        await self._session.publish([self._session.record(start, "", event_id)])
        if not wait:
            return {"firing_id": start.firing_id, "status": "started"}
        deadline = time.monotonic() + timeout_seconds
        while time.monotonic() < deadline:
            try:
                page = await self._session.ask(sleep_pb2.RunsRequest(firing_id=start.firing_id, limit=1, brief=True))
                for run in page.runs:
                    if run.status in _ENDED:
                        return (await self.sleep_runs(1, run.run_id))[0]
            except (NotFound, DeadlineExceeded):
                # Not begun yet, or the worker is just starting again: the run goes on all the same.
                pass
            await asyncio.sleep(_LOOK_SECONDS)
        raise DeadlineExceeded(f"The run {start.firing_id} has not ended after {timeout_seconds:g} s")

    async def sleep_status(self, user_id: str | None = None) -> dict[str, Any]:
        """The run at work with its phases, who is at work in it, and the last run that ended.

        With a user also when that one was last replayed, and last went through all phases; of runs then only how far they
        are and how they ended, without what they did to others. An identity bound to certain users names one of these.
        """
        user = "" if user_id is None else self._session.user(user_id)
        return status_account(await self._session.ask(sleep_pb2.SleepStatusRequest(user_id=user), user), user)

    async def sleep_pending(self, user_id: str | None = None) -> list[dict[str, Any]]:
        """Users with experiences that wait for consolidation, how many, and since when; or the one that is named, which an
        identity bound to certain users does."""
        user = "" if user_id is None else self._session.user(user_id)
        found: list[dict[str, Any]] = []
        after = ""
        while True:
            request = sleep_pb2.PendingRequest(user_id=user, limit=_PAGE, after=after)
            page = await self._session.ask(request, user)
            found += pending_account(page)
            after = page.next
            if not after:
                return found

    async def sleep_estimate(
        self, user_id: str | Sequence[str] | None = None, phases: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """How long `sleep_now` would take, reckoned from earlier runs, before it is started."""
        request = sleep_pb2.EstimateRequest(
            user_ids=[self._session.user(user) for user in checked_names(user_id, "user_id")],
            phases=_checked_phases(phases),
            manual=True,
        )
        return estimate_account(await self._session.ask(request))

    async def sleep_cancel(self, run_id: str | uuid.UUID | None = None) -> dict[str, Any]:
        """End a run (default: the one at work); its step under way is still applied, the rest waits for the next run.

        Returns the run as it ended. Raises NotFound where there is no such run, or it has ended already.
        """
        named = "" if run_id is None else str(checked_id(run_id, "run_id"))
        return run_account(await self._session.command(sleep_pb2.ConsolidationCancel(run_id=named), ""))

    async def sleep_runs(self, limit: int = 20, run_id: str | uuid.UUID | None = None) -> list[dict[str, Any]]:
        """The last runs, newest first, or one: phases, counts, times, samples of decisions. Raises NotFound."""
        named = "" if run_id is None else str(checked_id(run_id, "run_id"))
        shown = checked_count(limit, "limit", MAX_HISTORY)
        page = await self._session.ask(sleep_pb2.RunsRequest(limit=shown, run_id=named))
        return [run_account(run) for run in page.runs]

    async def mark_consolidated(self, user_id: str, message_ids: Sequence[str | uuid.UUID]) -> int:
        """Say that these messages need no replay any more: they may expire from working memory. Returns how many
        were named; what working memory does not hold (any more) changes nothing."""
        user = self._session.user(user_id)
        if isinstance(message_ids, str):
            raise InvalidMessage("message_ids must be a list of ids")
        ids = [checked_id(one, "message_id").bytes for one in message_ids]
        answer = await self._session.command(sleep_pb2.MarkConsolidated(user_id=user, event_ids=ids), user)
        return int(answer.experiences)

    async def jobs(self, history: int = 0) -> dict[str, Any]:
        """The schedule and whether its file is in force, when each job runs next, and its last `history` firings."""
        shown = checked_count(history, "history", MAX_HISTORY, least=0)
        account = jobs_account(await self._session.ask(sleep_pb2.JobsRequest(history=shown)))
        return {**account, "firings": account["firings"][:shown]}

    async def run_job(
        self, job: str, user_id: str | Sequence[str] | None = None, phases: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """Fire a job now, whatever its time, idleness and whether it is enabled; a heavy one waits for the one that runs.

        Returns the firing; `jobs(history)` tells how it ended. Users and phases where the job knows any. Raises NotFound for
        a job that the schedule does not have, InvalidMessage for what it cannot take.
        """
        users = [self._session.user(user) for user in checked_names(user_id, "user_id")]
        command = sleep_pb2.TriggerJob(job=checked_text(job, "job"), user_ids=users, phases=_checked_phases(phases))
        return firing_account(await self._session.command(command, ""))

    async def cancel_job(self, job: str) -> dict[str, Any]:
        """End a job that runs, or take off one that waits for its turn. Raises NotFound where it does neither."""
        answer = await self._session.command(sleep_pb2.CancelJob(job=checked_text(job, "job")), "")
        return firing_account(answer)


def _checked_phases(phases: Sequence[str] | None) -> list[str]:
    named = checked_names(phases, "phases")
    require_phases(named)
    return named

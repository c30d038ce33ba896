"""What a client can ask of the system itself: flush, sleep, jobs, publish, subscribe."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from google.protobuf.json_format import ParseDict, ParseError

from aico_memory.client.results import Delivered
from aico_memory.client.session import Session
from aico_memory.client.stream import EventStream
from aico_memory.client.validation import checked_count, checked_id, checked_names, checked_seconds, checked_text
from aico_memory.clock import format_us
from aico_memory.contracts.envelope import check_fields
from aico_memory.contracts.registry import topic_named, topics
from aico_memory.contracts.v1 import sleep_pb2
from aico_memory.errors import BusUnavailable, ClosedConnection, DeadlineExceeded, InvalidMessage, NotFound
from aico_memory.ids import new_id

_LOOK_SECONDS = (0.01, 0.1)
MAX_HISTORY = 1000
_ENDED = frozenset({"complete", "cancelled", "failed"})


class OperationVerbs:
    """Verbs on the bus and on sleep."""

    _session: Session

    async def flush(self, timeout_seconds: float = 60.0) -> None:
        """Return when every consumer is done with what this client published; then every message can be found.

        Raises DeadlineExceeded with the names of those that are behind.
        """
        timeout_seconds = checked_seconds(timeout_seconds, "timeout_seconds")
        deadline = time.monotonic() + timeout_seconds
        pause = _LOOK_SECONDS[0]
        while self._session.published or self._session.spooled:
            behind = await self._behind(max(0.1, deadline - time.monotonic()))
            if not behind:
                return
            if time.monotonic() >= deadline:
                raise DeadlineExceeded(f"After {timeout_seconds:g} s still behind: {', '.join(behind)}")
            await asyncio.sleep(min(pause, max(0.0, deadline - time.monotonic())))
            pause = min(pause * 1.5, _LOOK_SECONDS[1])

    async def _behind(self, seconds: float) -> list[str]:
        """Who is not done yet with what this client published; the bus itself where it is away."""
        if self._session.spooled:
            return ["the bus (messages wait in the spool)"]
        wanted = dict(self._session.published)
        try:
            answer = await self._session.control("consumers", {}, seconds)
        except ClosedConnection:
            raise
        except (BusUnavailable, DeadlineExceeded) as error:
            return [f"the bus ({error.code})"]
        return _behind(wanted, answer["consumers"])

    async def sleep_now(
        self,
        user_id: str | Sequence[str] | None = None,
        phases: Sequence[str] | None = None,
        wait: bool = False,
        timeout_seconds: float = 600.0,
    ) -> dict[str, Any]:
        """Consolidate now (all users, or these). With `wait` returns the finished run, else its firing id at once."""
        timeout_seconds = checked_seconds(timeout_seconds, "timeout_seconds")
        now_us = self._session.clock.now_us()
        event_id = new_id(now_us)
        start = sleep_pb2.ConsolidationStart(
            firing_id=f"manual/{event_id}",
            planned_at_us=now_us,
            user_ids=[self._session.user(user) for user in checked_names(user_id, "user_id")],
            phases=checked_names(phases, "phases"),
            manual=True,
        )
        await self._session.publish([self._session.record(start, "", event_id)])
        if not wait:
            return {"firing_id": start.firing_id, "status": "started"}
        deadline = time.monotonic() + timeout_seconds
        while time.monotonic() < deadline:
            try:
                page = await self._session.ask(sleep_pb2.RunsRequest(firing_id=start.firing_id, limit=1))
            except (NotFound, DeadlineExceeded):
                # Not begun yet, or the worker is just starting again: the run goes on all the same.
                page = sleep_pb2.RunsPage()
            for run in page.runs:
                if run.status in _ENDED:
                    return _run_shape(run)
            await asyncio.sleep(_LOOK_SECONDS[1])
        raise DeadlineExceeded(f"The run {start.firing_id} has not ended after {timeout_seconds:g} s")

    async def jobs(self, history: int = 0) -> dict[str, Any]:
        """The schedule, when each job runs next, and its last `history` firings."""
        shown = checked_count(history, "history", MAX_HISTORY, least=0)
        page = await self._session.ask(sleep_pb2.JobsRequest(history=shown))
        return {
            "idle": page.idle,
            "cpu_percent": page.cpu_percent,
            "jobs": [
                {
                    "name": job.name,
                    "cron": job.cron,
                    "zone": job.zone,
                    "topic": job.topic,
                    "enabled": job.enabled,
                    "next": format_us(job.next_us),
                    "last": format_us(job.last_us),
                    "last_outcome": job.last_outcome or None,
                    "priority": job.priority,
                    "waits_for_idle": job.waits_for_idle,
                }
                for job in page.jobs
            ],
            "firings": [
                {
                    "firing_id": firing.firing_id,
                    "job": firing.job,
                    "planned": format_us(firing.planned_us),
                    "fired": format_us(firing.fired_us),
                    "finished": format_us(firing.finished_us),
                    "outcome": firing.outcome,
                    "seconds": firing.seconds,
                    "manual": firing.manual,
                }
                for firing in page.firings[:shown]
            ],
        }

    async def publish(
        self,
        topic: str,
        fields: Mapping[str, Any],
        user_id: str | None = None,
        event_id: str | uuid.UUID | None = None,
    ) -> str:
        """Publish a message of any topic by its contract's field names; returns the event id.

        On a durable topic it returns when the record is on the broker's disk. Raises UnknownTopic, InvalidMessage.
        """
        declared = topic_named(checked_text(topic, "topic"))
        message = declared.message()
        if not isinstance(fields, Mapping):
            raise InvalidMessage("fields must be a mapping of the contract's field names")
        try:
            ParseDict(dict(fields), message)
        except ParseError as error:
            first = str(error).splitlines()[0]
            raise InvalidMessage(f"The fields do not fit {declared.full_name}: {first}") from None
        check_fields(message)
        user = user_id if user_id is not None else fields.get("user_id", "")
        record = self._session.record(
            message,
            self._session.user(user) if user or declared.needs_user else "",
            None if event_id is None else checked_id(event_id, "event_id"),
        )
        if declared.durable:
            await self._session.publish([record])
        else:
            self._session.link.send(record)
        return str(uuid.UUID(bytes=record.event_id))

    async def subscribe(self, topic: str, callback: Callable[[Delivered], object] | None = None) -> EventStream:
        """Hear what is published on a topic from now on; nothing published after this returns is missed.

        The result is an asynchronous iterator; with a callback that is called instead (a coroutine function is
        awaited). close() ends it. On a durable topic each record arrives once and in order, over reconnects too.
        """
        stream = EventStream(self._session, topic_named(checked_text(topic, "topic")), callback)
        await stream.open()
        return stream


def _behind(wanted: Mapping[str, int], consumers: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names of the consumers that are not done with these positions, the topics' owners first of all."""
    declared = topics()
    missing = {declared[topic].owner for topic in wanted if topic in declared} - {consumer["name"] for consumer in consumers}
    behind = sorted(missing)
    for consumer in consumers:
        if any(consumer["settled"] < wanted[topic] for topic in consumer["topics"] if topic in wanted):
            behind.append(consumer["name"])
    return behind


def _run_shape(run: sleep_pb2.Run) -> dict[str, Any]:
    return {
        "run_id": run.run_id,
        "firing_id": run.firing_id,
        "status": run.status,
        "users": run.users,
        "users_done": run.users_done,
        "experiences": run.experiences,
        "started": format_us(run.started_us),
        "finished": format_us(run.finished_us),
        "error": run.error or None,
        "phases": [
            {"phase": phase.phase, "counts": dict(phase.counts), "seconds": phase.seconds, "error": phase.error or None}
            for phase in run.phases
        ],
    }

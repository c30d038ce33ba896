"""What a client can ask of the system itself: flush, publish, subscribe."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from google.protobuf.json_format import ParseDict, ParseError

from aico_memory.bus.read_only import WriteStop
from aico_memory.client.results import Delivered
from aico_memory.client.session import Session
from aico_memory.client.stream import EventStream
from aico_memory.client.validation import checked_id, checked_seconds, checked_text
from aico_memory.contracts.envelope import check_fields
from aico_memory.contracts.registry import topic_named, topics
from aico_memory.errors import BusUnavailable, ClosedConnection, DeadlineExceeded, InvalidMessage
from aico_memory.runtime.naming import named_user

_LOOK_SECONDS = (0.01, 0.1)


class OperationVerbs:
    """Verbs on the bus."""

    _session: Session

    async def flush(self, timeout_seconds: float = 60.0) -> None:
        """Return when every consumer is done with what this client published; then every message can be found.

        Raises DeadlineExceeded with the names of those that are behind, ReadOnly where all writing is stopped.
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
        behind = _behind(wanted, answer["consumers"])
        stop = WriteStop(**answer["read_only"])
        if behind and stop.on:
            raise stop.error()
        return behind

    async def publish(
        self,
        topic: str,
        fields: Mapping[str, Any],
        user_id: str | None = None,
        event_id: str | uuid.UUID | None = None,
    ) -> str:
        """Publish a message of any topic by its contract's field names; returns the event id.

        `user_id` is that of the header, None being the message's own; two different ones are an InvalidMessage.
        On a durable topic it returns when the record is on the broker's disk. Raises UnknownTopic, InvalidMessage;
        BusUnavailable or DeadlineExceeded as `add` does: the record may still arrive, and the same `event_id` is one event.
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
        user = named_user(message, user_id, self._session.user)
        record = self._session.record(message, user, None if event_id is None else checked_id(event_id, "event_id"))
        if declared.durable:
            await self._session.publish([record])
        else:
            self._session.link.send(record)
        return str(uuid.UUID(bytes=record.event_id))

    async def subscribe(self, topic: str, callback: Callable[[Delivered], object] | None = None) -> EventStream:
        """Hear what is published on a topic from now on; nothing published after this returns is missed.

        The result is an asynchronous iterator; with a callback that is called instead (a coroutine function is
        awaited). close() ends it, and so does an error, which is raised once, or logged where there is a callback. On a
        durable topic each record arrives once and in order, over reconnects too.
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

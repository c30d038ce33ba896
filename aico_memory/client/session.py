"""One client's connection: link, clock and limits, and the few ways of speaking over it."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any

from google.protobuf.message import Message

from aico_memory.bus.link import Acknowledgement, Link, read_address
from aico_memory.client.spool import Spool
from aico_memory.client.validation import checked_user
from aico_memory.clock import Clock
from aico_memory.contracts.envelope import make_record
from aico_memory.contracts.registry import Topic, topic_of
from aico_memory.contracts.v1 import bus_pb2
from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.errors import (
    AccessDenied,
    AicoMemoryError,
    BusUnavailable,
    ClosedConnection,
    DeadlineExceeded,
    NotFound,
    TooLarge,
    from_os_error,
)
from aico_memory.ids import new_id
from aico_memory.log import get_logger
from aico_memory.paths import Home
from aico_memory.runtime.clocks import clock_for
from aico_memory.settings.identity import IdentitySettings
from aico_memory.settings.link import LinkSettings
from aico_memory.settings.load import load_settings
from aico_memory.vault.curve_keys import load_identity
from aico_memory.vault.master import open_vault

_log = get_logger(__name__)
# How soon and how often the stored answer of a command is asked for, should its reply have been lost.
_FIRST_LOOK = 1.0
_NEXT_LOOK = 0.5
_LOOK_SECONDS = 0.5
# An event id that the caller gives may be one that was sent before: look sooner.
_REPEAT_LOOK = 0.1
# The answer to a command that was applied under this id; None where it changed nothing.
Recover = Callable[[uuid.UUID], Awaitable[Any]]
MAY_ARRIVE = (
    "What was given may still arrive; give it again with the same id (`event_ids` of this error), which has one effect."
)


class Session:
    """An open link with what the verbs need beside it."""

    def __init__(
        self, link: Link, clock: Clock, settings: LinkSettings, max_bytes: int, spool: Spool | None = None,
        identity: IdentitySettings | None = None,
    ) -> None:  # fmt: skip
        self.link = link
        self.clock = clock
        self.settings = settings
        self._max_bytes = max_bytes
        self._spool = spool
        self._identity = identity or IdentitySettings()
        if spool is not None:
            link.on_connect = self._empty_spool
            self._empty_spool()
        # Last global sequence this client published, per topic: what flush() waits for.
        self.published: dict[str, int] = {}

    @classmethod
    def open(cls, home: Home, identity: str, spool: bool = False) -> Session:
        """Connect as this identity.

        Raises BusUnavailable (not with a spool), NotAuthorised or VersionMismatch, within two seconds.
        """
        try:
            return cls._opened(home, identity, spool)
        except OSError as error:
            raise from_os_error(error) from error

    @classmethod
    def _opened(cls, home: Home, identity: str, spool: bool) -> Session:
        settings = load_settings(home)
        if not spool:
            read_address(home)
        keys = load_identity(home, identity)
        kept = None
        if spool:
            sealer = open_vault(home, settings.security).sealer("spool")
            kept = Spool(home.spool, identity, sealer, settings.link.spool_bytes)
        clock, max_bytes = clock_for(home), settings.bus.max_bytes
        link = Link(lambda: read_address(home), keys, settings=settings.link, clock=clock)
        try:
            max_bytes = link.start().max_bytes
        except AicoMemoryError as error:
            if kept is None or not isinstance(error, BusUnavailable):
                link.close()
                if kept is not None:
                    kept.close()
                raise type(error)(f"{error.detail} (home {home.root})", error.mend) from None
        return cls(link, clock, settings.link, max_bytes, kept, settings.identity)

    def user(self, name: object) -> str:
        """The user id that a name stands for (`identity.aliases`). InvalidMessage where it is no name."""
        return self._identity.user(checked_user(name))

    @property
    def spooled(self) -> bool:
        """Whether something waits on disk for the bus."""
        return self._spool is not None and self._spool.pending

    def close(self) -> None:
        """Wait (bounded) for what is on its way, then close."""
        self.link.close()
        if self._spool is not None:
            self._spool.close()

    def record(self, message: Message, user: str, event_id: uuid.UUID | None = None) -> OutgoingRecord:
        """A record of now; TooLarge where the bus would not take it."""
        now_us = self.clock.now_us()
        record = make_record(message, event_id=event_id or new_id(now_us), occurred_us=now_us, user=user)
        limit = topic_of(message).max_bytes or self._max_bytes
        if limit and len(record.envelope) > limit:
            raise TooLarge(f"The message has {len(record.envelope)} bytes; on {record.topic} are allowed {limit}")
        return record

    async def publish(self, records: Sequence[OutgoingRecord]) -> list[Acknowledgement]:
        """Publish durable records in this order and wait until they are on the broker's disk.

        With a spool, while the bus is away, until they are on this side's disk (global sequence 0). Without, the error
        of a bus that says nothing in time names the events, because the link still sends them when the bus is back.
        """
        if self._spool is None:
            return await self._publish_now(records, self.settings.publish_seconds)
        if self.link.connected and not self._spool.pending:
            try:
                return await self._publish_now(records, self.settings.spool_after_seconds)
            except ClosedConnection:
                raise
            except (BusUnavailable, DeadlineExceeded):
                # They may arrive all the same: the bus knows their ids.
                pass
        await asyncio.to_thread(self._spool.append, records)
        if self.link.connected:
            self._empty_spool()
        return [Acknowledgement(record.event_id, 0, 0) for record in records]

    async def _publish_now(self, records: Sequence[OutgoingRecord], seconds: float) -> list[Acknowledgement]:
        try:
            if self.link.has_room(len(records), sum(len(record.envelope) for record in records)):
                future = self.link.publish_bulk(records)
            else:
                future = await asyncio.to_thread(self.link.publish_bulk, records, seconds)
            acknowledged: list[Acknowledgement] = await self._bounded(future, seconds, "publish")
        except (BusUnavailable, DeadlineExceeded) as error:
            raise _unsure(error, [uuid.UUID(bytes=record.event_id) for record in records]) from None
        for record, acknowledgement in zip(records, acknowledged, strict=True):
            self._note(record.topic, acknowledgement)
        return acknowledged

    async def ask(self, message: Message, user: str = "", seconds: float | None = None) -> Any:
        """Ask a worker; its decoded answer or its typed error."""
        seconds = self.settings.request_seconds if seconds is None else seconds
        return await self._bounded(self.link.request(message, user=user, timeout=seconds), seconds, _asked(topic_of(message)))

    async def command(
        self,
        message: Message,
        user: str,
        event_id: uuid.UUID | None = None,
        stored: Message | None = None,
        recover: Recover | None = None,
        seconds: float | None = None,
    ) -> Any:
        """Publish a durable command and wait for its answer, which is lost where a connection breaks just then.

        Whoever answered it is asked to send the answer again; a worker that has died since has forgotten it.
        `stored` asks for the answer that stands: a command that was sent before under this id is not applied
        again, so nobody answers it again. `recover` is called with the command's id once it has been applied:
        it tells the answer by what stands now, or None where the command changed nothing; then it is given again.
        `seconds` is the whole patience where a command takes longer than most.
        """
        deadline = time.monotonic() + (seconds or self.settings.command_seconds)
        topic = topic_of(message)
        pause = _REPEAT_LOOK if event_id is not None else _FIRST_LOOK
        answer: Any = None
        while answer is None:
            given = event_id or new_id(self.clock.now_us())
            event_id = None
            waiting, acknowledged = await self._given(message, user, given, deadline)
            again = partial(self._answer_again, user, given)
            if stored is not None:
                look = partial(self.ask, stored, user)
            elif recover is not None:
                look = partial(self._recovered, recover, given, topic, acknowledged, again)
            else:
                look = again
            answer = await self._awaited(waiting, look, pause, deadline, _asked(topic))
        return answer

    async def _awaited(
        self, waiting: asyncio.Future[Any], look: Callable[..., Awaitable[Any]], pause: float, deadline: float, topic: str
    ) -> Any:
        """The answer as it comes, or as a look finds it; None where a look says that there is none to wait for."""
        while True:
            done, _ = await asyncio.wait([waiting], timeout=pause)
            if done:
                return await self._bounded(waiting, 0, topic)
            pause = _NEXT_LOOK
            try:
                # A look is lost with a dying worker: each has a short time of its own, and the reply may come meanwhile.
                found = await look(seconds=min(_LOOK_SECONDS, max(0.1, deadline - time.monotonic())))
            except (NotFound, AccessDenied, DeadlineExceeded, BusUnavailable) as error:
                if isinstance(error, ClosedConnection):
                    raise
                if time.monotonic() >= deadline:
                    waiting.cancel()
                    raise self._late(topic) from None
                continue
            if found is None:
                # What has been applied was answered, or is just being.
                await asyncio.wait([waiting], timeout=_LOOK_SECONDS)
                if waiting.done():
                    return await self._bounded(waiting, 0, topic)
            waiting.cancel()
            return found

    async def _answer_again(self, user: str, event_id: uuid.UUID, seconds: float) -> Any:
        """Have the answer to a command sent again; it comes by itself, so that there is nothing to find here."""
        # What concerns everybody has no user of its own: any name will do.
        again = bus_pb2.AnswerAgain(user_id=user or self.link.identity, event_id=event_id.bytes)
        self.link.send(self.record(again, again.user_id))
        raise NotFound("The answer is on its way, or is not kept")

    async def _recovered(
        self,
        recover: Recover,
        event_id: uuid.UUID,
        topic: Topic,
        acknowledged: Acknowledgement,
        again: Callable[..., Awaitable[Any]],
        seconds: float,
    ) -> Any:
        """What a command came to; NotFound as long as the topic's owner has not applied it."""
        with suppress(NotFound):
            await again(seconds)
        for consumer in (await self.control("consumers", {}, seconds))["consumers"]:
            if consumer["name"] == topic.owner and consumer["applied"] >= acknowledged.global_sequence:
                return await recover(event_id)
        raise NotFound(f"{topic.owner} has not applied the command yet")

    async def _given(
        self, message: Message, user: str, event_id: uuid.UUID, deadline: float
    ) -> tuple[asyncio.Future[Any], Acknowledgement]:
        """A command that is on the broker's disk, and what will hear its answer."""
        seconds = max(0.1, deadline - time.monotonic())
        acknowledged: Future[Acknowledgement] = Future()
        answer = self.link.request(message, user=user, timeout=seconds, event_id=event_id, acknowledged=acknowledged)
        waiting = asyncio.wrap_future(answer)
        # Where the publish itself fails nobody looks at the answer's error any more.
        waiting.add_done_callback(lambda done: done.cancelled() or done.exception())
        topic = topic_of(message).name
        try:
            acknowledgement: Acknowledgement = await self._bounded(acknowledged, seconds, topic)
        except (BusUnavailable, DeadlineExceeded) as error:
            raise _unsure(error, [event_id]) from None
        self._note(topic, acknowledgement)
        return waiting, acknowledgement

    async def control(self, verb: str, body: dict[str, Any], seconds: float | None = None) -> dict[str, Any]:
        """Ask the broker itself, for at most so many seconds."""
        patience = min(self.settings.request_seconds, self.settings.request_seconds if seconds is None else seconds)
        answer: dict[str, Any] = await self._bounded(self.link.control(verb, body, patience), patience, f"the bus's {verb}")
        return answer

    def _empty_spool(self) -> None:
        spool = self._spool
        if spool is not None and spool.pending:
            threading.Thread(target=self._publish_spooled, args=(spool,), name="client-spool", daemon=True).start()

    def _publish_spooled(self, spool: Spool) -> None:
        try:
            spool.empty(self.link.publish, self._note, self.settings.publish_seconds)
        except AicoMemoryError as error:
            _log.error("the spool cannot be published", reason=str(error))

    def _note(self, topic: str, acknowledgement: Acknowledgement) -> None:
        self.published[topic] = max(self.published.get(topic, 0), acknowledgement.global_sequence)

    async def _bounded(self, future: Future[Any] | asyncio.Future[Any], seconds: float, about: str) -> Any:
        """The result, or a typed error: what keeps the bus away if it is away, else DeadlineExceeded."""
        waiting = future if isinstance(future, asyncio.Future) else asyncio.wrap_future(future)
        try:
            # The link ends requests by itself; the margin lets its word come first.
            return await asyncio.wait_for(waiting, seconds + 0.5)
        except TimeoutError:
            raise self._late(about) from None
        except DeadlineExceeded:
            raise self._late(about) from None

    def _late(self, about: str) -> AicoMemoryError:
        return self.link.trouble or DeadlineExceeded(f"No answer to {about} in time")


def _asked(topic: Topic) -> str:
    """What was asked, and whose answer is missing."""
    return f"{topic.name} from {topic.owner}"


def _unsure(error: AicoMemoryError, event_ids: Sequence[uuid.UUID]) -> AicoMemoryError:
    """The error of a publish that nobody acknowledged: it names what may arrive all the same. Closed is closed."""
    if isinstance(error, ClosedConnection):
        return error
    told = type(error)(error.detail, f"{MAY_ARRIVE} {error.mend}")
    told.event_ids = tuple(str(event_id) for event_id in event_ids)
    return told

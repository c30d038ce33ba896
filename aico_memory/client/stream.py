"""A subscription as an asynchronous iterator."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence

from aico_memory.bus.consumer import Consumer
from aico_memory.bus.link import Subscription
from aico_memory.client.results import Delivered
from aico_memory.client.session import Session
from aico_memory.client.shapes import delivered_shape
from aico_memory.contracts.envelope import open_record
from aico_memory.contracts.registry import Topic
from aico_memory.contracts.wire import StampedRecord
from aico_memory.errors import AicoMemoryError, ClosedConnection, InvalidMessage
from aico_memory.log import get_logger

_log = get_logger(__name__)
# Records between the bus and a reader. A durable topic waits for the reader, an ephemeral one loses the rest.
_HELD = 1000
_BATCH = 256
_SECONDS = 0.5


class EventStream(AsyncIterator[Delivered]):
    """Records of one topic, as they come.

    An error of the bus (a key that is revoked, a journal that is another one) is raised once, or logged where a callback
    is called, and ends the subscription: nothing more comes.
    """

    def __init__(self, session: Session, topic: Topic, callback: Callable[[Delivered], object] | None) -> None:
        self._session = session
        self._topic = topic
        self._callback = callback
        self._held: asyncio.Queue[Delivered | AicoMemoryError] = asyncio.Queue()
        # Counted apart from the queue, which only the event loop may touch: the loop may end before its writer does.
        self._room = threading.Semaphore(_HELD)
        self._loop = asyncio.get_running_loop()
        self._source: Consumer | Subscription | None = None
        self._task: asyncio.Task[None] | None = None
        self._closed = False
        # Records of an ephemeral topic that were let go because nobody read them, and those that nobody can read.
        self.lost = 0
        self.unreadable = 0

    async def open(self) -> None:
        """Begin; what is published after this returns is heard."""
        link = self._session.link
        if self._topic.durable:
            answer = await self._session.control("consumers", {})
            consumer = link.consume([self._topic.name], link.epoch, answer["head"])
            self._source = consumer
            threading.Thread(target=self._pump, args=(consumer,), name="event-stream", daemon=True).start()
            await asyncio.to_thread(consumer.wait_live, self._session.settings.request_seconds)
        else:
            self._source = await asyncio.to_thread(link.subscribe, [self._topic.name], self._deliver)
        if self._callback is not None:
            self._task = asyncio.create_task(self._call())

    def __aiter__(self) -> EventStream:
        return self

    async def __anext__(self) -> Delivered:
        if self._closed and self._held.empty():
            raise StopAsyncIteration
        item = await self._held.get()
        if isinstance(item, ClosedConnection):
            self._end()
            raise StopAsyncIteration
        self._room.release()
        if isinstance(item, AicoMemoryError):
            self._end()
            raise item
        return item

    async def close(self) -> None:
        """Hear nothing more."""
        if self._closed:
            return
        self._end()
        if self._task is not None:
            self._task.cancel()

    def _end(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._source is not None:
            self._source.close()
        self._held.put_nowait(ClosedConnection("The subscription was closed"))

    async def _call(self) -> None:
        try:
            async for event in self:
                await self._told(event)
        except AicoMemoryError as error:
            _log.error("a subscription has ended", topic=self._topic.name, code=error.code, reason=str(error))

    async def _told(self, event: Delivered) -> None:
        assert self._callback is not None
        try:
            outcome = self._callback(event)
            if inspect.isawaitable(outcome):
                await outcome
        except Exception:
            _log.exception("a subscriber's callback failed", topic=self._topic.name)

    def _pump(self, consumer: Consumer) -> None:
        """Move records from the consumer into the queue; runs in a thread of its own."""
        while not self._closed:
            try:
                items: list[Delivered | AicoMemoryError] = list(self._readable(consumer.receive(_BATCH, _SECONDS)))
            except AicoMemoryError as error:
                items = [error]
            for item in items:
                if not self._put(item):
                    return
            if items and isinstance(items[-1], AicoMemoryError):
                return

    def _readable(self, records: Sequence[StampedRecord]) -> Iterator[Delivered]:
        """What can be read of these; the rest is what the workers bury as dead letters, and holds nobody up."""
        for record in records:
            if record.erased:
                continue
            try:
                yield delivered_shape(open_record(record))
            except InvalidMessage as error:
                self.unreadable += 1
                _log.warning("a record cannot be read", topic=record.topic, event_id=str(record.id), reason=error.detail)

    def _put(self, item: Delivered | AicoMemoryError) -> bool:
        """Hand it to the event loop once there is room; False where nobody reads any more."""
        while not self._closed:
            if self._room.acquire(timeout=_SECONDS):
                return self._handed(item)
        return False

    def _handed(self, item: Delivered | AicoMemoryError) -> bool:
        try:
            self._loop.call_soon_threadsafe(self._held.put_nowait, item)
        except RuntimeError:
            return False  # the event loop has ended
        return True

    def _deliver(self, record: StampedRecord) -> None:
        """A record of an ephemeral topic, in the link's I/O thread."""
        for event in self._readable([record]):
            if self._room.acquire(blocking=False):
                self._handed(event)
            else:
                self.lost += 1

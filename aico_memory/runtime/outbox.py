"""Publishing what a worker's transactions emitted, until the bus has acknowledged it."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

from aico_memory.contracts.envelope import ANSWER
from aico_memory.contracts.registry import topic_named
from aico_memory.contracts.wire import REPLY_PREFIX, OutgoingRecord
from aico_memory.errors import PASSING, AicoMemoryError, UnknownTopic
from aico_memory.ids import derive_id
from aico_memory.runtime.kept_answers import KeptAnswers
from aico_memory.runtime.poison import refused_letter
from aico_memory.runtime.ports import Handlers, LinkPort
from aico_memory.settings.runtime import RuntimeSettings

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

# Records of one transaction that leave from its own thread; more of them would keep it from the next.
AT_ONCE = 16


def is_ephemeral(record: OutgoingRecord) -> bool:
    """Whether the bus forwards this record without journalling it."""
    if record.topic.startswith(REPLY_PREFIX):
        return True
    try:
        return not topic_named(record.topic).durable
    except UnknownTopic:
        return False


class Outbox:
    """Publishes the outgoing records in order, by a thread of its own; a refused one becomes a dead letter, never a block."""

    def __init__(
        self,
        handlers: Handlers,
        link: LinkPort,
        settings: RuntimeSettings,
        log: FilteringBoundLogger,
        now_us: Callable[[], int],
        applied: Callable[[], int],
        moved: Callable[[], None],
    ) -> None:
        self._handlers = handlers
        self._link = link
        self._settings = settings
        self._log = log
        self._now_us = now_us
        self._applied = applied
        self._moved = moved
        self._work = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="outbox", daemon=True)
        # Held by whoever publishes: what flies already is not published by another.
        self._publishing = threading.Lock()
        self._flying: dict[bytes, Future[Any]] = {}
        self._kept = KeptAnswers()
        # Transactions whose records were left to the thread, and how many of these it has published: until it has
        # published all of them nothing overtakes them.
        self._left = self._caught_up = 0
        # Answers that went out before this thread came to them.
        self._sent: set[bytes] = set()
        self._lingering: bool = getattr(handlers, "lingers", False)
        # Everything emitted up to this global sequence is on the bus.
        self.settled = 0
        self.waiting = 0
        self.refused = 0

    def start(self) -> None:
        self._work.set()
        self._thread.start()

    def wake(self) -> None:
        """A transaction has committed."""
        self._work.set()

    def send_again(self, command: uuid.UUID) -> bool:
        """Send the answer to this command once more, to whoever gave it; False where it is not kept."""
        answer = self._kept.of(derive_id(command, ANSWER).bytes)
        if answer is None:
            return False
        self._link.send(answer)
        return True

    def hand_over(self, emitted: Sequence[OutgoingRecord]) -> None:
        """Let go what a transaction has just emitted from the thread that made it, so that nobody waits for this one.

        Many records at once, or records for which there is no room, go by way of the thread. So do all of a worker whose
        records nobody waits for: each publish costs the bus a sync and every consumer a wake-up, just when the next
        request comes; the thread gathers what comes within a short time.
        """
        if self._lingering:
            self._answer(emitted)
            self._left += 1
            self.wake()
            return
        durable = [record for record in emitted if not is_ephemeral(record)]
        flies = len(emitted) <= AT_ONCE and self._fly(durable)
        if not flies:
            self._left += 1
        self._answer(emitted)
        if not (durable and flies):
            self.wake()

    def answer_early(self, emitted: Sequence[OutgoingRecord]) -> list[OutgoingRecord]:
        """Send the answers of a transaction that does not stand yet; those that went out."""
        return self._answer(emitted)

    def _answer(self, emitted: Sequence[OutgoingRecord]) -> list[OutgoingRecord]:
        gone = []
        for record in emitted:
            if record.topic.startswith(REPLY_PREFIX):
                # What cannot be sent now is tried again with the rest.
                with suppress(AicoMemoryError):
                    self._link.send(record)
                    self._sent.add(record.event_id)
                    self._kept.keep(record)
                    gone.append(record)
        return gone

    def _fly(self, records: Sequence[OutgoingRecord]) -> bool:
        """Publish these without waiting for anything; False where that cannot be. Their acknowledgement wakes the thread."""
        if not records:
            return True
        if self.waiting or self._left > self._caught_up or not self._publishing.acquire(blocking=False):
            return False
        try:
            fresh = [record for record in records if record.event_id not in self._flying]
            if not fresh or not self._link.has_room(len(fresh), sum(len(record.envelope) for record in fresh)):
                return False
            futures = self._link.publish(fresh)
            self._flying.update(zip([record.event_id for record in fresh], futures, strict=True))
        except AicoMemoryError:
            return False
        finally:
            self._publishing.release()
        futures[-1].add_done_callback(lambda _: self.wake())
        return True

    def close(self, seconds: float) -> bool:
        """Publish what is left, for at most so long; True where nothing is left."""
        self._closing.set()
        self._work.set()
        self._thread.join()
        deadline = monotonic() + seconds
        pause = threading.Event()
        while True:
            left = deadline - monotonic()
            if self._publish_some(max(left, 0.05)) and self.waiting == 0:
                return True
            if left <= 0:
                return False
            if self.waiting:
                pause.wait(min(left, 0.05))

    def _run(self) -> None:
        while not self._closing.is_set():
            self._work.wait()
            if self._lingering:
                self._closing.wait(self._settings.linger_ms / 1000)
            self._work.clear()
            try:
                while not self._closing.is_set() and not self._publish_some(self._settings.publish_timeout_seconds):
                    pass
            except Exception as error:
                # The store's trouble shows in the consumer's thread; here it is only tried again.
                self._log.warning("outbox_failed", error=type(error).__name__, exc_info=True)
                self._retry_later()
                continue
            if self.waiting:
                self._retry_later()

    def _retry_later(self) -> None:
        if not self._closing.wait(self._settings.outbox_retry_ms / 1000):
            self._work.set()

    def _publish_some(self, timeout: float) -> bool:
        """Publish the oldest records; True where nothing more can be done now (empty, or the bus is away)."""
        # Before the look at the table, so that what was left until now is in it.
        mark, left = self._applied(), self._left
        state = self._handlers.state
        records = state.outgoing(self._settings.outbox_records)
        self.waiting = len(records)
        if not records:
            self._caught_up = left
            self._sent.clear()
            if mark > self.settled:
                self.settled = mark
                self._moved()
            return True
        done, refusals = self._deliver(records, timeout)
        if len(records) < self._settings.outbox_records and self._all_fly(records, done):
            self._caught_up = left
        for record, error in refusals:
            self._bury(record, error)
            done.append(record.event_id)
        if done:
            state.settle_outgoing(done)
        self.waiting = len(records) - len(done)
        return self.waiting > 0

    def _all_fly(self, records: Sequence[OutgoingRecord], done: Sequence[bytes]) -> bool:
        ended = set(done)
        return all(one.event_id in self._flying or one.event_id in ended or is_ephemeral(one) for one in records)

    def _deliver(
        self, records: Sequence[OutgoingRecord], timeout: float
    ) -> tuple[list[bytes], list[tuple[OutgoingRecord, AicoMemoryError]]]:
        done: list[bytes] = []
        refusals: list[tuple[OutgoingRecord, AicoMemoryError]] = []
        deadline = monotonic() + timeout
        with self._publishing:
            fresh = [record for record in records if record.event_id not in self._flying and not is_ephemeral(record)]
            try:
                if fresh:
                    self._flying.update(zip([record.event_id for record in fresh], self._link.publish(fresh), strict=True))
            except PASSING as error:
                self._log.info("outbox_waits", records=len(fresh), code=error.code)
        # Answers do not wait for acknowledgements.
        for record in records:
            if record.event_id in self._sent:
                self._sent.discard(record.event_id)
                done.append(record.event_id)
            elif is_ephemeral(record):
                self._send(record, done, refusals)
        for record in records:
            future = self._flying.get(record.event_id)
            if future is None:
                continue
            try:
                future.result(max(deadline - monotonic(), 0))
                done.append(record.event_id)
            except FutureTimeout:
                continue  # still with the link, which sends it again by itself
            except PASSING as error:
                self._log.info("outbox_waits", topic=record.topic, code=error.code)
            except AicoMemoryError as error:
                refusals.append((record, error))
            del self._flying[record.event_id]
        return done, refusals

    def _send(self, record: OutgoingRecord, done: list[bytes], refusals: list[tuple[OutgoingRecord, AicoMemoryError]]) -> None:
        try:
            self._link.send(record)
            done.append(record.event_id)
            if record.topic.startswith(REPLY_PREFIX):
                self._kept.keep(record)
        except PASSING:
            return
        except AicoMemoryError as error:
            refusals.append((record, error))

    def _bury(self, record: OutgoingRecord, error: AicoMemoryError) -> None:
        self.refused += 1
        self._log.error("outgoing_refused", topic=record.topic, event_id=record.event_id.hex(), code=error.code)
        letter = refused_letter(record, self._handlers.name, error, self._now_us())
        if letter.topic == record.topic or record.topic.startswith(REPLY_PREFIX):
            return
        with self._handlers.state.transaction() as transaction:
            transaction.emit(letter)

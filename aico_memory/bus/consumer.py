"""A durable consumer as its reader sees it: records of its topics, each once, in global order."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from aico_memory.bus.consumer_merge import ConsumerMerge, Mark, RangeAnswer, another_journal
from aico_memory.contracts.wire import StampedRecord
from aico_memory.errors import AicoMemoryError, ClosedConnection, DeadlineExceeded, JournalLost


class Consumer:
    """Between the link's I/O thread, which feeds it, and one reader thread, which receives.

    It holds a bounded number of records. A reader that falls behind costs nobody anything: the
    consumer lets live records go and reads them from the journal when there is room.
    """

    def __init__(self, merge: ConsumerMerge, wake: Callable[[], None], closed: Callable[[Consumer], None]) -> None:
        self._merge = merge
        self._wake = wake
        self._closed = closed
        self._arrived = threading.Condition()
        self._failure: AicoMemoryError | None = None
        self.topics = frozenset(merge.topics)
        # Number and time (monotonic) of the range that was asked for.
        self.request = 0
        self.asked_at = 0.0

    @property
    def epoch(self) -> int:
        """The journal this consumer reads; 0 until it is known."""
        return self._merge.epoch

    @property
    def position(self) -> int:
        """No record of its topics up to this global sequence is still to come, but for those not yet received."""
        with self._arrived:
            return self._merge.ready[0].global_sequence - 1 if self._merge.ready else self._merge.confirmed

    @property
    def caught_up(self) -> bool:
        """At the head of the journal, with nothing left to receive."""
        with self._arrived:
            return self._merge.live and not self._merge.ready

    @property
    def counters(self) -> dict[str, int]:
        """Gaps noticed, ranges asked for, times the reader was too slow for live delivery."""
        return {"gaps": self._merge.gaps, "ranges": self._merge.ranges, "overflows": self._merge.overflows}

    def receive(self, limit: int, timeout: float) -> list[StampedRecord]:
        """The next records, at most `limit`; an empty list after `timeout` seconds without any.

        Raises JournalLost where records this consumer still needed are gone, AccessDenied where its topics are
        refused, NotAuthorised where its key is, ClosedConnection after close().
        """
        deadline = time.monotonic() + timeout
        with self._arrived:
            while not self._merge.ready:
                if self._failure is not None:
                    raise self._failure
                left = deadline - time.monotonic()
                if left <= 0 or not self._arrived.wait(left):
                    break
            records = self._merge.take(limit)
            hungry = self._merge.wanted_range() is not None
        if hungry:
            self._wake()
        return records

    def wait_live(self, timeout: float) -> None:
        """Wait until it has caught up once; DeadlineExceeded after `timeout` seconds, or what keeps it from there."""
        deadline = time.monotonic() + timeout
        with self._arrived:
            while not (self._merge.live or self._merge.ready):
                if self._failure is not None:
                    raise self._failure
                left = deadline - time.monotonic()
                if left <= 0:
                    raise DeadlineExceeded("The consumer has not caught up in time")
                self._arrived.wait(left)

    def close(self) -> None:
        """Stop; receive() raises from now on."""
        self.fail(ClosedConnection("The consumer was closed"))
        self._closed(self)

    # What follows is for the I/O thread.

    def records(self, epoch: int, records: Sequence[StampedRecord]) -> None:
        """Live records of one of its topics."""
        self._feed(lambda: self._merge.records(epoch, records))

    def mark(self, mark: Mark) -> None:
        """A mark of the broker."""
        self._feed(lambda: self._merge.mark(mark))

    def range(self, answer: RangeAnswer) -> None:
        """The range that was asked for."""
        self._feed(lambda: self._merge.range(answer))

    def journal(self, epoch: int) -> None:
        """The broker's journal is this one."""
        if self._merge.epoch and epoch != self._merge.epoch:
            self.fail(another_journal(epoch, self._merge.epoch))

    def disconnected(self) -> None:
        """The connection was lost, or an answer did not come."""
        with self._arrived:
            self._merge.disconnected()

    def next_range(self) -> tuple[int, int] | None:
        """First global sequence and most records to ask for now; None where nothing is wanted."""
        with self._arrived:
            if self._failure is not None:
                return None
            wanted = self._merge.wanted_range()
            if wanted is not None:
                self._merge.asked()
            return wanted

    def fail(self, error: AicoMemoryError) -> None:
        """Nothing more will come; the reader learns why after what is still there."""
        with self._arrived:
            self._failure = self._failure or error
            self._arrived.notify_all()

    def _feed(self, step: Callable[[], None]) -> None:
        with self._arrived:
            if self._failure is not None:
                return
            was_live = self._merge.live
            try:
                step()
            except JournalLost as error:
                self._failure = error
            if self._merge.ready or self._failure is not None or self._merge.live is not was_live:
                self._arrived.notify_all()

"""Merging live and replayed records of several topics into one global order, free of I/O.

Records come live (in order, but a slow subscriber loses some) and from ranges
of the journal (complete). A live record alone cannot prove that nothing of
*another* topic was lost before it. The broker's marks can: a mark says "the
journal stands at `head`; since `previous` only these topics changed, up to these
topic sequences". So live records are held until the mark behind them vouches
for them, and where it does not, the range is read instead. Everything up to
`confirmed` has been handed out, once and in order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aico_memory.contracts.wire import StampedRecord
from aico_memory.errors import JournalLost

# What a record costs beside its envelope, roughly.
RECORD_OVERHEAD = 400


@dataclass(frozen=True, slots=True)
class Mark:
    """What a Heads frame says."""

    epoch: int
    head: int
    previous: int
    heads: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class RangeAnswer:
    """What a RANGE frame says: records in global order, and where the next range begins."""

    epoch: int
    records: Sequence[StampedRecord]
    next_global: int
    at_head: bool
    positions: Mapping[str, int]
    missing: int = 0


class ConsumerMerge:
    """State of one durable consumer between the broker and its reader.

    `ready` is what may be handed out. The owner takes from it with `take`, sends the range request
    that `wanted_range` names, and passes in what arrives.
    """

    def __init__(self, topics: Sequence[str], epoch: int, cursor: int, max_records: int, max_bytes: int) -> None:
        self.topics = tuple(topics)
        self.epoch = epoch
        self.confirmed = cursor
        self.ready: deque[StampedRecord] = deque()
        # Counted for status: gaps noticed, ranges asked for, live records let go because the reader was slow.
        self.gaps = 0
        self.ranges = 0
        self.overflows = 0
        self._started_at = cursor
        self._known: dict[str, int] = dict.fromkeys(self.topics, 0)
        self._pending: deque[StampedRecord | Mark] = deque()
        self._pending_bytes = 0
        self._ready_bytes = 0
        self._max_records = max_records
        self._max_bytes = max_bytes
        self._live = False
        self._asked = False

    @property
    def live(self) -> bool:
        """Caught up once and still so; False while a range is needed."""
        return self._live

    def take(self, limit: int) -> list[StampedRecord]:
        """The next records in global order, at most `limit`."""
        ready = self.ready
        taken = [ready.popleft() for _ in range(min(limit, len(ready)))]
        self._ready_bytes = 0 if not ready else self._ready_bytes - sum(_size(record) for record in taken)
        return taken

    def wanted_range(self) -> tuple[int, int] | None:
        """First global sequence and most records of the range to ask for now; None while none is needed or there is no room."""
        if self._live or self._asked:
            return None
        room = self._max_records - len(self.ready)
        if room < max(1, self._max_records // 4) or self._ready_bytes >= self._max_bytes:
            return None
        return self.confirmed + 1, room

    def asked(self) -> None:
        """The range named by `wanted_range` has been asked for."""
        self._asked = True
        self.ranges += 1

    def disconnected(self) -> None:
        """The connection is gone, or an answer did not come: the journal is asked again."""
        self._live = False
        self._asked = False

    def records(self, epoch: int, records: Sequence[StampedRecord]) -> None:
        """Live records of one topic have arrived."""
        self._check_epoch(epoch)
        for record in records:
            if record.global_sequence > self.confirmed:
                self._pending.append(record)
                self._pending_bytes += _size(record)
        self._bound_pending()

    def mark(self, mark: Mark) -> None:
        """A mark has arrived: what it vouches for is handed out."""
        self._check_epoch(mark.epoch)
        if self._live:
            self._judge(mark)
        else:
            self._pending.append(mark)
            self._bound_pending()

    def range(self, answer: RangeAnswer) -> None:
        """The range that was asked for has arrived."""
        if not self._asked:
            return
        self._asked = False
        self._check_epoch(answer.epoch)
        if answer.missing and self._started_at:
            raise JournalLost(
                f"{answer.missing} records after {self.confirmed} were removed before this consumer had read them"
            )
        for record in answer.records:
            if self.confirmed < record.global_sequence < answer.next_global:
                self._hand_out(record)
        self.confirmed = max(self.confirmed, answer.next_global - 1)
        for topic, sequence in answer.positions.items():
            if topic in self._known:
                self._known[topic] = max(self._known[topic], sequence)
        self._started_at = self._started_at or self.confirmed
        if answer.at_head:
            self._go_live()

    def _go_live(self) -> None:
        self._live = True
        waiting, self._pending, self._pending_bytes = self._pending, deque(), 0
        for item in waiting:
            if isinstance(item, Mark):
                if self._live:
                    self._judge(item)
                else:
                    self._pending.append(item)
            elif item.global_sequence > self.confirmed:
                self._pending.append(item)
                self._pending_bytes += _size(item)

    def _judge(self, mark: Mark) -> None:
        """Hand out what the mark vouches for, or fall back to the journal."""
        if mark.head <= self.confirmed:
            return
        known = dict(self._known)
        last = self.confirmed
        vouched: list[StampedRecord] = []
        complete = mark.previous <= self.confirmed
        while complete and self._pending:
            record = self._pending[0]
            if isinstance(record, Mark) or record.global_sequence > mark.head:
                break
            self._pending.popleft()
            self._pending_bytes -= _size(record)
            if record.topic_sequence <= known[record.topic] or record.global_sequence <= last:
                complete = record.global_sequence <= self.confirmed
                continue
            if record.topic_sequence != known[record.topic] + 1:
                complete = False
            known[record.topic] = record.topic_sequence
            last = record.global_sequence
            vouched.append(record)
        if not complete or any(known[topic] < sequence for topic, sequence in mark.heads.items() if topic in known):
            self.gaps += 1
            self._live = False
        elif len(self.ready) + len(vouched) > self._max_records or self._ready_bytes >= self._max_bytes:
            # The reader is behind: the journal keeps the records for it.
            self.overflows += 1
            self._live = False
        else:
            self._known = known
            self.confirmed = mark.head
            for record in vouched:
                self._hand_out(record)

    def _hand_out(self, record: StampedRecord) -> None:
        self.ready.append(record)
        self._ready_bytes += _size(record)

    def _bound_pending(self) -> None:
        # The newest are kept: those before them come with the range.
        while len(self._pending) > self._max_records or self._pending_bytes > self._max_bytes:
            dropped = self._pending.popleft()
            if isinstance(dropped, StampedRecord):
                self._pending_bytes -= _size(dropped)

    def _check_epoch(self, epoch: int) -> None:
        if self.epoch == 0:
            self.epoch = epoch
        elif epoch != self.epoch:
            raise another_journal(epoch, self.epoch)


def _size(record: StampedRecord) -> int:
    return len(record.envelope) + RECORD_OVERHEAD


def another_journal(epoch: int, read: int) -> JournalLost:
    """The error of a consumer whose cursor belongs to another journal."""
    return JournalLost(f"The journal is another one (epoch {epoch}) than the one this consumer has read ({read})")

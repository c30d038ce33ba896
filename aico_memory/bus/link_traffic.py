"""What goes over an established connection, without the sockets: frames in, frames out.

Owned by the link's I/O thread alone. `out` holds frames for the DEALER, `filters`
what to subscribe to (True) or no longer (False) on the SUB.
"""

from __future__ import annotations

import heapq
import json
import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import count

from google.protobuf.message import Message as ProtobufMessage

from aico_memory.bus.consumer import Consumer
from aico_memory.bus.consumer_merge import RangeAnswer
from aico_memory.bus.link_delivery import Deliveries
from aico_memory.bus.link_questions import OpenQuestions, Question, resolve
from aico_memory.bus.link_subscriptions import Progress, SubscriptionBook, Wanted
from aico_memory.bus.link_tickets import Ticket
from aico_memory.bus.link_window import PublishWindow, Settled
from aico_memory.contracts.v1 import bus_pb2
from aico_memory.contracts.wire import Kind, OutgoingRecord, pack_publish, unpack_ack, unpack_batch, unpack_range
from aico_memory.errors import AicoMemoryError, DeadlineExceeded, RateLimited, from_code
from aico_memory.settings.link import LinkSettings

AnyTicket = tuple[Ticket, int]
_PING = bytes([Kind.PING])


def frame(kind: Kind, message: ProtobufMessage) -> bytes:
    """A frame that is not hot: kind byte and protobuf."""
    return bytes([kind]) + message.SerializeToString()


class Traffic:
    """Publishes, questions, subscriptions and consumers of one link."""

    def __init__(self, session: bytes, settings: LinkSettings, released: Callable[[int, int], None]) -> None:
        self.window: PublishWindow[AnyTicket] = PublishWindow(settings.frame_records, settings.frame_bytes)
        self.requests = OpenQuestions()
        self.questions = OpenQuestions()
        self.book = SubscriptionBook(session, settings.subscription_chunk)
        self.deliveries = Deliveries()
        self.out: deque[bytes] = deque()
        self.filters: deque[tuple[bool, bytes]] = deque()
        # The broker lost count: a new HELLO is due before anything more is published.
        self.resync_due = False
        # Requests wait until their answers can be heard.
        self.answers: Wanted | None = None
        self._session = session
        self._settings = settings
        self._released = released
        self._numbers = count(1)
        self._delayed: list[tuple[float, int, OutgoingRecord, AnyTicket]] = []
        self._waiting: dict[Wanted, Callable[[AicoMemoryError | None], None]] = {}
        self._progress_at = time.monotonic()
        self._probe: bytes | None = None
        # The subscription whose chunk is on its way, and behind it those whose next chunk waits for that.
        self._subscribing: deque[Wanted] = deque()

    @property
    def answers_heard(self) -> bool:
        """Answers to requests would arrive."""
        return self.answers is not None and self.answers.progress is Progress.LIVE

    @property
    def drained(self) -> bool:
        """Nothing is on its way to the broker."""
        return not (self.window.waiting or self.window.unacknowledged or self._delayed or self.out)

    def hello(self, hello: bus_pb2.Hello) -> bytes:
        """The HELLO to send now."""
        hello.session = self._session
        hello.next_producer_sequence = self.window.first_unacknowledged
        return frame(Kind.HELLO, hello)

    def established(self, epoch: int) -> None:
        """HELLO was answered on a new connection: all that was open is sent again."""
        self.welcomed()
        self.out.extend(self.questions.frames())
        for consumer in self.deliveries.consumers:
            consumer.journal(epoch)

    def welcomed(self) -> None:
        """HELLO was answered: unacknowledged publishes are sent again."""
        self.resync_due = False
        self._progress_at = time.monotonic()
        self.window.reconnected()

    def disconnected(self) -> None:
        """The connection is gone."""
        self.out.clear()
        self.filters.clear()
        self._probe = None
        self._subscribing.clear()
        self.book.disconnected()
        for consumer in self.deliveries.consumers:
            consumer.disconnected()

    def next_frame(self) -> bytes | None:
        """The next publish to send; None where all is sent or a resync is due."""
        following = None if self.resync_due else self.window.next_frame()
        return None if following is None else pack_publish(following[1], following[0], False)

    def request(self, question: Question) -> None:
        """Send a request (or wait for the answer to a durable one) until its deadline."""
        question.patience = self._settings.repeat_seconds
        question.repeat_at = time.monotonic() + question.patience
        self.requests.add(question)
        if question.frame is not None and self.answers_heard:
            self.out.append(question.frame)

    def control(self, verb: str, body: dict[str, object], question: Question) -> None:
        """Ask the broker itself."""
        number = next(self._numbers)
        question.key = number
        question.frame = frame(Kind.CONTROL, bus_pb2.Control(request=number, verb=verb, body=json.dumps(body)))
        self.questions.add(question)
        self.out.append(question.frame)

    def want(self, wanted: Wanted, told: Callable[[AicoMemoryError | None], None] | None) -> None:
        """Work towards this subscription; `told` hears once that it is live, or why not."""
        if told is not None:
            self._waiting[wanted] = told

    def unwant(self, wanted: Wanted) -> None:
        """Give a subscription up."""
        if wanted.progress in (Progress.GRANTED, Progress.LIVE):
            self.filters.extend((False, prefix) for prefix in wanted.sent)
        self._waiting.pop(wanted, None)
        self.book.remove(wanted)
        if wanted in self._subscribing:
            if self._subscribing[0] is wanted:
                self._chunk_stands()
            else:
                self._subscribing.remove(wanted)

    def router_frame(self, data: bytes) -> None:
        """A frame of the broker's ROUTER, WELCOME and PONG aside."""
        kind = data[0]
        if kind == Kind.ACK:
            self._progress_at = time.monotonic()
            settled, whole = self.window.acknowledge(*unpack_ack(data))
            self.resync_due = self.resync_due or not whole
            if settled:
                self._settle(settled)
        elif kind == Kind.REFUSED:
            self._refused(bus_pb2.Refusal.FromString(data[1:]))
        elif kind == Kind.RESYNC:
            self.resync_due = True
        elif kind == Kind.GRANTED:
            wanted = self.book.answered(bus_pb2.Granted.FromString(data[1:]).request)
            if wanted is not None:
                self.book.granted(wanted)
                self._subscribe_chunk(wanted)
        elif kind == Kind.RANGE:
            self._range(data)
        elif kind == Kind.CONTROL_ANSWER:
            answer = bus_pb2.ControlAnswer.FromString(data[1:])
            question = self.questions.take(answer.request)
            if question is not None:
                resolve(question.future, json.loads(answer.body))

    def delivery_frame(self, data: bytes) -> None:
        """A frame of the broker's XPUB."""
        ready = self.deliveries.frame(data, self.requests)
        if ready is None:
            return
        if ready == self._probe:
            self._probe = None
            self.filters.append((False, ready))
        wanted = self.book.ready(ready)
        if wanted is None:
            return
        self.filters.append((False, ready))
        self._chunk_stands()
        if wanted.chunks:
            self._subscribe_chunk(wanted)
            return
        if wanted is self.answers:
            self.out.extend(self.requests.frames())
        self._tell(wanted, None)

    def probe(self) -> None:
        """See whether the delivery still lives, where nothing was to be heard for a while."""
        if self._probe is None:
            self._probe = self.book.nonce()
            self.filters.append((True, self._probe))

    def stuck(self, now: float) -> bool:
        """A subscription was never answered or never confirmed: it got lost on its way."""
        waiting = [wanted for wanted in self.book if wanted.progress is Progress.CHECKING]
        waiting += [self._subscribing[0]] if self._subscribing else []
        return any(now - wanted.moved_at > self._settings.stall_seconds for wanted in waiting)

    def tick(self, now: float) -> None:
        """Ask what is to be asked, and end what took too long. Only while a connection stands."""
        for wanted in self.book.unsent():
            number = next(self._numbers)
            self.book.asked(wanted, number)
            wanted.moved_at = now
            check = bus_pb2.SubscribeCheck(request=number, topics=wanted.checked, consumer=wanted.consumer)
            self.out.append(frame(Kind.SUBSCRIBE, check))
        for consumer, wanted in self.deliveries.consumers.items():
            if wanted.progress is Progress.LIVE:
                self._ask_range(consumer, now)
        if self.answers_heard:
            self.out.extend(self.requests.repeats(now))
        if not self.window.unacknowledged:
            # Nobody waits: the time of an acknowledgement runs from the next publish, not from the last one.
            self._progress_at = now
        elif now - self._progress_at > self._settings.stall_seconds:
            self.resync_due = True
            self._progress_at = now

    def expire(self, now: float) -> None:
        """End the questions whose time is over; also while there is no connection."""
        for table in (self.requests, self.questions):
            for question in table.expired(now):
                resolve(question.future, DeadlineExceeded(f"No answer to {question.about} in time"))
        while self._delayed and self._delayed[0][0] <= now:
            _, _, record, ticket = heapq.heappop(self._delayed)
            self.window.add(record, ticket)

    def next_deadline(self) -> float | None:
        """When `expire` has something to do."""
        known = [self.requests.next_deadline(), self.questions.next_deadline(), self._delayed[0][0] if self._delayed else None]
        return min((moment for moment in known if moment is not None), default=None)

    def fail(self, error: AicoMemoryError) -> None:
        """End everything that is open with this error."""
        for ticket, record in self._all_publishes():
            self._released(1, len(record.envelope))
            ticket[0].settle(ticket[1], error)
        for table in (self.requests, self.questions):
            for question in table.drain():
                resolve(question.future, error)
        for consumer in list(self.deliveries.consumers):
            consumer.fail(error)
        for wanted in list(self._waiting):
            # The link itself may still get in: what it waits for first stays wanted.
            if wanted is not self.answers:
                self._tell(wanted, error)

    def _all_publishes(self) -> Iterator[tuple[AnyTicket, OutgoingRecord]]:
        yield from self.window.drain()
        while self._delayed:
            _, _, record, ticket = heapq.heappop(self._delayed)
            yield ticket, record

    def _settle(self, settled: list[Settled[AnyTicket]]) -> None:
        records = size = 0
        for end in settled:
            if end.retry_after_ms and isinstance(end.outcome, RateLimited):
                at = time.monotonic() + end.retry_after_ms / 1000
                heapq.heappush(self._delayed, (at, next(self._numbers), end.record, end.token))
                continue
            records += 1
            size += len(end.record.envelope)
            end.token[0].settle(end.token[1], end.outcome)
        self._released(records, size)

    def _refused(self, refusal: bus_pb2.Refusal) -> None:
        error = from_code(refusal.code, refusal.detail, refusal.mend)
        if refusal.producer_sequence:
            self.window.refuse(refusal.producer_sequence, error, refusal.retry_after_ms)
            return
        if not refusal.request:
            request = self.requests.take(refusal.event_id)
            if request is not None:
                resolve(request.future, error)
            return
        question = self.questions.take(refusal.request)
        if question is not None:
            resolve(question.future, error)
        wanted = self.book.answered(refusal.request)
        if wanted is not None:
            self.book.remove(wanted)
            self._tell(wanted, error)
            self.deliveries.refused(wanted, error)
        consumer = self.deliveries.asked(refusal.request)
        if consumer is not None:
            consumer.fail(error)

    def _subscribe_chunk(self, wanted: Wanted) -> None:
        """Subscribe to the next chunk, when those before it stand: of all subscriptions one chunk at a time is on its way."""
        wanted.moved_at = time.monotonic()
        if self._subscribing:
            self._subscribing.append(wanted)
            return
        self._subscribing.append(wanted)
        self.filters.extend((True, prefix) for prefix in self.book.next_chunk(wanted))

    def _chunk_stands(self) -> None:
        """The chunk on its way has arrived, or is not wanted any more: the next one may go."""
        self._subscribing.popleft()
        if self._subscribing:
            following = self._subscribing.popleft()
            waiting, self._subscribing = self._subscribing, deque()
            self._subscribe_chunk(following)
            self._subscribing.extend(waiting)

    def _tell(self, wanted: Wanted, error: AicoMemoryError | None) -> None:
        told = self._waiting.pop(wanted, None)
        if told is not None:
            told(error)

    def _ask_range(self, consumer: Consumer, now: float) -> None:
        if consumer.request and now - consumer.asked_at > self._settings.stall_seconds:
            consumer.request = 0
            consumer.disconnected()
        wanted = consumer.next_range()
        if wanted is None:
            return
        consumer.request = next(self._numbers)
        consumer.asked_at = now
        ask = bus_pb2.RangeRequest(
            request=consumer.request,
            topics=sorted(consumer.topics),
            from_global=wanted[0],
            max_records=min(wanted[1], self._settings.range_records),
            max_bytes=self._settings.range_bytes,
        )
        self.out.append(frame(Kind.RANGE_REQUEST, ask))

    def _range(self, data: bytes) -> None:
        head_bytes, batches = unpack_range(data)
        head = bus_pb2.RangeHead.FromString(head_bytes)
        consumer = self.deliveries.asked(head.request)
        if consumer is None:
            return
        consumer.request = 0
        records = [record for batch in batches for record in unpack_batch(batch)[2]]
        positions = {position.topic: position.sequence for position in head.positions}
        consumer.range(RangeAnswer(head.epoch, records, head.next_global, head.at_head, positions, head.missing))
        self._ask_range(consumer, time.monotonic())

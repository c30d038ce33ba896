"""Where a frame of the live delivery goes: to consumers, subscriptions, open requests."""

from __future__ import annotations

from collections.abc import Callable, Collection

from aico_memory.bus.consumer import Consumer
from aico_memory.bus.consumer_merge import Mark
from aico_memory.bus.link_questions import OpenQuestions, resolve
from aico_memory.bus.link_subscriptions import Wanted
from aico_memory.contracts.envelope import open_record, open_reply
from aico_memory.contracts.v1 import bus_pb2
from aico_memory.contracts.wire import HEADS_TOPIC, MARKS_PREFIX, READY_PREFIX, REPLY_PREFIX, StampedRecord, unpack_batch
from aico_memory.errors import AicoMemoryError
from aico_memory.log import get_logger

_log = get_logger(__name__)
Deliver = Callable[[StampedRecord], None]
_REPLY = REPLY_PREFIX.encode()


class Deliveries:
    """Consumers and plain subscriptions of one link."""

    def __init__(self) -> None:
        self.consumers: dict[Consumer, Wanted] = {}
        self._plain: dict[Wanted, Deliver] = {}

    def add_plain(self, wanted: Wanted, deliver: Deliver) -> None:
        """Deliver records under the subscription's prefixes from now on."""
        self._plain[wanted] = deliver

    def remove_plain(self, wanted: Wanted) -> None:
        self._plain.pop(wanted, None)

    def refused(self, wanted: Wanted, error: AicoMemoryError) -> None:
        """The broker does not allow this subscription (any more)."""
        if self._plain.pop(wanted, None) is not None:
            _log.warning("subscription refused", topics=wanted.checked, reason=str(error))
        for consumer, its in self.consumers.items():
            if its is wanted:
                consumer.fail(error)

    def asked(self, request: int) -> Consumer | None:
        """The consumer that waits for the range of this number."""
        return next((consumer for consumer in self.consumers if request and consumer.request == request), None)

    def frame(self, data: bytes, requests: OpenQuestions) -> bytes | None:
        """Hand a frame on; returns the topic where it is a readiness frame."""
        if data.startswith(READY_PREFIX):
            return data.split(b"\0", 1)[0]
        if data.startswith(HEADS_TOPIC):
            self._heads(data[len(HEADS_TOPIC) :].removeprefix(b"\0"), self.consumers)
            return None
        if data.startswith(MARKS_PREFIX):
            topic_end = data.index(b"/", len(MARKS_PREFIX)) + 1
            self._heads(data[topic_end:], [one for one, its in self.consumers.items() if data[:topic_end] in its.free])
            return None
        topic, epoch, records = unpack_batch(data)
        if data.startswith(_REPLY):
            for record in records:
                _answer(record, requests)
        for consumer in self.consumers:
            if topic in consumer.topics:
                consumer.records(epoch, records)
        for wanted, deliver in list(self._plain.items()):
            if topic.startswith(wanted.checked):
                for record in records:
                    _hand_over(deliver, record)
        return None

    def _heads(self, data: bytes, consumers: Collection[Consumer]) -> None:
        if not consumers:
            return
        heads = bus_pb2.Heads.FromString(data)
        mark = Mark(heads.epoch, getattr(heads, "global"), heads.previous, {at.topic: at.sequence for at in heads.heads})
        for consumer in consumers:
            consumer.mark(mark)


def _answer(record: StampedRecord, requests: OpenQuestions) -> None:
    try:
        event = open_record(record)
    except AicoMemoryError as error:
        _log.warning("an answer cannot be read", reason=str(error))
        return
    if event.correlation_id is None:
        return
    question = requests.take(event.correlation_id.bytes)
    if question is None:
        return
    try:
        answer = open_reply(event.message)
    except AicoMemoryError as error:
        resolve(question.future, error)
    else:
        resolve(question.future, answer)


def _hand_over(deliver: Deliver, record: StampedRecord) -> None:
    try:
        deliver(record)
    except Exception:
        _log.exception("a subscriber's callback failed", topic=record.topic)

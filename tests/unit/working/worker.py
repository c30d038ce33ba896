"""A working worker without processes: handlers on the store's twin, events in, answers and announcements out."""

from types import SimpleNamespace

from aico_memory.contracts.envelope import Event, open_record
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import working_pb2
from aico_memory.contracts.wire import StampedRecord
from aico_memory.domain.working.expiry import HOUR_US
from aico_memory.ids import compose_uuid7
from aico_memory.settings.working import WorkingSettings
from aico_memory.stores.working import MemoryWorkingStore
from services.working.handlers import WorkingHandlers

NOON = 1_760_000_000_000_000
SECOND = 1_000_000


class Worker:
    """Handlers fed with events as the runtime does it; each event is one transaction."""

    def __init__(self, **settings) -> None:
        self.store = MemoryWorkingStore()
        self.handlers = WorkingHandlers(self.store, WorkingSettings(**settings))
        self.sequence = 0

    def event(self, message, user="ada", at=None, event_id=None, received=None) -> Event:
        """The event of a message that was published a second before it was received."""
        self.sequence += 1
        received = NOON + self.sequence * SECOND if received is None else received
        return Event(
            event_id=event_id or compose_uuid7(received // 1000, self.sequence.to_bytes(10, "big")),
            topic=topic_of(message).name,
            user=user,
            message=message,
            global_sequence=self.sequence,
            received_us=received,
            occurred_us=received - SECOND if at is None else at,
        )

    def apply(self, *events: Event) -> Event:
        for event in events:
            with self.store.transaction() as transaction:
                self.handlers.apply(transaction, event)
                transaction.set_cursor(1, event.global_sequence)
        return events[-1]

    def say(self, content: str, user="ada", session="s", received=None, **fields) -> Event:
        message = working_pb2.Message(user_id=user, session_id=session, role="user", content=content, **fields)
        return self.apply(self.event(message, user, received=received))

    def ask(self, message, user="ada"):
        return self.handlers.requests[topic_of(message).name](self.event(message, user), SimpleNamespace())

    def read(self, **asked):
        return self.ask(working_pb2.ReadMessages(user_id="ada", **asked))

    def announced(self, kind) -> list[Event]:
        """Events of this kind in the outbox, as a consumer would see them."""
        return [
            open_record(StampedRecord(record.topic, record.event_id, record.user, record.envelope, "working", 1, 1, NOON))
            for record in self.store.outgoing(10_000)
            if record.topic == topic_of(kind).name
        ]


def swept(worker: Worker, hours: float, firing: str = "firing") -> None:
    worker.apply(worker.event(working_pb2.Sweep(firing_id=firing), user="", received=NOON + int(hours * HOUR_US)))


def touch(worker: Worker, *items: tuple[str, float], session="s", at=NOON) -> None:
    touched = [
        working_pb2.BufferItem(id=identifier, content=f"about {identifier}", importance=value) for identifier, value in items
    ]
    worker.ask(working_pb2.BufferTouched(user_id="ada", session_id=session, items=touched, at_us=at))

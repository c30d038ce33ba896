"""A worker for the tests of the runtime: keeps what was said, fails where it is told to."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from structlog.testing import CapturingLogger

from aico_memory.clock import FixedClock
from aico_memory.contracts.envelope import Event, make_record, reply_record
from aico_memory.contracts.v1 import bus_pb2, working_pb2
from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.errors import NotFound
from aico_memory.ids import derive_id
from aico_memory.paths import Home
from aico_memory.runtime.loop import WorkerLoop
from aico_memory.runtime.ports import Handlers, Ports
from aico_memory.settings.root import Settings
from aico_memory.settings.runtime import RuntimeSettings
from aico_memory.stores.sql.twin import MemoryConsumerState
from tests.support.twin_bus import TwinBus

MESSAGE_TOPIC = "memory/working/message/v1/"
STORED_TOPIC = "memory/working/stored/v1/"
DEAD_LETTER_TOPIC = "memory/bus/dead_letter/v1/"
READ_TOPIC = "memory/working/read/v1/"
QUICK = RuntimeSettings(
    retry_first_ms=1, retry_limit_ms=2, outbox_retry_ms=10, publish_timeout_seconds=2, idle_ms=5, report_ms=1,
    heartbeat_seconds=0.05, max_attempts=3, drain_seconds=2,
)  # fmt: skip


class Keeper(Handlers):
    """Applies messages; `fail` is asked first and may raise."""

    def __init__(self, fail: Callable[[Event], None] = lambda event: None) -> None:
        self.name = "working"
        self.topics = (MESSAGE_TOPIC,)
        self.requests = {READ_TOPIC: self._read}
        self.state = MemoryConsumerState()
        self.fail = fail
        self.kept: list[str] = []
        self.prepared: list[int] = []
        self.batches: list[int] = []
        self.closed = False
        self.idled = threading.Event()
        self.settled_at: int | None = None
        self.woken = threading.Event()
        self.release = threading.Event()
        self.release.set()

    def prepare(self, events: Sequence[Event]) -> None:
        self.prepared.append(len(events))

    def apply(self, transaction: Any, event: Event) -> None:
        self.fail(event)
        transaction.emit(
            make_record(
                working_pb2.Stored(user_id=event.user, event_ids=[event.event_id.bytes]),
                event_id=derive_id(event.event_id, "stored"),
                occurred_us=event.occurred_us,
                user=event.user,
            )
        )
        if event.reply_to:
            transaction.emit(reply_record(event, working_pb2.Stored(user_id=event.user)))
        self.kept.append(event.message.content)

    def after_commit(self) -> None:
        self.woken.set()

    def settled(self, applied: int) -> int:
        return applied if self.settled_at is None else min(applied, self.settled_at)

    def idle(self, now_us: int) -> None:
        self.idled.set()

    def status(self) -> dict[str, object]:
        return {"kept": len(self.kept)}

    def export(self, user: str, after: str, limit: int) -> bus_pb2.ExportPage:
        return bus_pb2.ExportPage(lines=sorted(self.kept)[:limit], omitted=["working.message.position"])

    def close(self) -> None:
        self.closed = True

    def _read(self, event: Event, ports: Ports) -> working_pb2.MessagePage:
        self.release.wait(60)
        if event.message.session_id == "gone":
            raise NotFound("No such session")
        if event.message.session_id == "broken":
            raise ValueError("words of a person")
        return working_pb2.MessagePage(messages=[working_pb2.StoredMessage(content=text) for text in self.kept])


def message_record(content: str, user: str = "ana", event_id: uuid.UUID | None = None, reply_to: str = "") -> OutgoingRecord:
    """A message as a client publishes it."""
    return make_record(
        working_pb2.Message(user_id=user, role="user", content=content),
        event_id=event_id or uuid.uuid4(),
        occurred_us=5,
        user=user,
        reply_to=reply_to,
    )


def broken_record(event_id: uuid.UUID | None = None) -> OutgoingRecord:
    """A record whose envelope is none."""
    return OutgoingRecord((event_id or uuid.uuid4()).bytes, MESSAGE_TOPIC, "ana", b"\xff\xff\xff")


@dataclass
class RunningWorker:
    """A worker loop in a thread on a twin bus."""

    bus: TwinBus
    handlers: Keeper
    home: Home
    clock: FixedClock
    settings: RuntimeSettings = QUICK
    ready: threading.Event = field(default_factory=threading.Event)
    stop: threading.Event = field(default_factory=threading.Event)
    failure: BaseException | None = None
    writing_stopped: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        progress = threading.Event()
        log: Any = CapturingLogger()
        ports = Ports(
            self.bus.link("working"),
            self.clock,
            Settings(runtime=self.settings),
            None,
            self.home,
            log,
            progress.set,
            self.writing_stopped.is_set,
        )  # type: ignore[arg-type]
        self.loop = WorkerLoop(self.handlers, ports, self.stop, progress)
        self.thread = threading.Thread(target=self._run, name="worker-under-test")
        self.thread.start()

    def _run(self) -> None:
        try:
            self.loop.run(self.ready.set)
        except BaseException as error:
            self.failure = error
            self.ready.set()

    def end(self) -> None:
        self.stop.set()
        self.thread.join(60)
        assert not self.thread.is_alive()

"""Ports of a worker: what its handlers are given, and what the runtime asks of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from google.protobuf.message import Message

from aico_memory.clock import Clock
from aico_memory.contracts.consumer_state import ConsumerState
from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import bus_pb2
from aico_memory.contracts.wire import OutgoingRecord, StampedRecord
from aico_memory.paths import Home
from aico_memory.runtime.courtesy import Courtesy
from aico_memory.settings.root import Settings

if TYPE_CHECKING:
    import uuid

    from structlog.typing import FilteringBoundLogger

    from aico_memory.vault.master import Vault

RequestHandler = Callable[[Event, "Ports"], Message]


class SubscriptionPort(Protocol):
    """A live subscription."""

    def close(self) -> None:
        """Deliver no more."""


class ConsumerPort(Protocol):
    """Durable records in global order, each once."""

    @property
    def caught_up(self) -> bool:
        """At the head of the journal, with nothing left to receive."""

    def receive(self, limit: int, timeout: float) -> list[StampedRecord]:
        """Up to `limit` records; [] after `timeout` seconds without one. JournalLost where records are gone."""

    def close(self) -> None:
        """Receive no more."""


class LinkPort(Protocol):
    """The worker's connection to the bus."""

    identity: str
    # Called in the link's thread whenever a connection stands (again); must not wait.
    on_connect: Callable[[], None] | None

    @property
    def epoch(self) -> int:
        """The journal's epoch."""

    def publish(self, records: Sequence[OutgoingRecord]) -> Sequence[Future[Any]]:
        """Publish durable records; each future ends with the acknowledgement or a typed error."""

    def has_room(self, records: int, size: int) -> bool:
        """Whether so many records of so many bytes could be published now without waiting."""

    def send(self, record: OutgoingRecord) -> None:
        """Send one ephemeral record."""

    def request(
        self, message: Message, *, user: str = "", timeout: float | None = None, event_id: uuid.UUID | None = None
    ) -> Future[Any]:
        """Ask and get the decoded answer, or the typed error."""

    def subscribe(self, topics: Sequence[str], deliver: Callable[[StampedRecord], None]) -> SubscriptionPort:
        """Hear live records; returns when nothing published from now on is missed."""

    def consume(self, topics: Sequence[str], epoch: int, cursor: int) -> ConsumerPort:
        """Durable records of these topics after the cursor."""

    def control(self, verb: str, body: dict[str, Any]) -> Future[dict[str, Any]]:
        """Ask the broker itself."""

    def close(self) -> None:
        """Flush and close."""


@dataclass(frozen=True, slots=True)
class Ports:
    """What a worker's factory is given."""

    link: LinkPort
    clock: Clock
    settings: Settings
    vault: Vault
    home: Home
    log: FilteringBoundLogger
    # Call it from a handler's own threads when `settled` may have moved; cheap.
    notify: Callable[[], None]
    # Whether all writing is stopped: a handler's own threads write nothing meanwhile; `after_commit` wakes them afterwards.
    read_only: Callable[[], bool] = lambda: False
    # Long work in a consumer's thread stands aside for questions between its pieces.
    courtesy: Courtesy = field(default_factory=Courtesy)


class Handlers(Protocol):
    """What one worker does. Inherit it to get the defaults of the optional parts."""

    name: str
    # Durable topics consumed, in global order; () where the worker only answers.
    topics: Sequence[str] = ()
    # Ephemeral topic -> answer; raise AicoMemoryError for a typed refusal.
    requests: Mapping[str, RequestHandler] = MappingProxyType({})
    state: ConsumerState
    # Whether answers leave before what their transaction publishes, which is gathered for a moment (`runtime.linger_ms`): no
    # other worker follows these records, so nobody who has the answer can ask for what they have not brought about yet.
    lingers: bool = False

    def prepare(self, events: Sequence[Event]) -> None:
        """Work outside the transaction before these events are applied (questions to other workers)."""
        return

    def answers_early(self, events: Sequence[Event]) -> bool:
        """Whether the answers to this batch may leave before its transaction stands.

        Only where each follows from the record and from what stands already: a process that dies in between applies the
        record again, out of the journal, and answers the same. Questions of this worker wait meanwhile.
        """
        return False

    def apply(self, transaction: Any, event: Event) -> None:
        """Apply one event inside the transaction, deterministically from the event alone.

        An expected refusal is emitted as a reply; raising means another attempt, in the end a dead letter.
        """

    def after_commit(self) -> None:
        """Effects stand; wake what follows them (indexers)."""
        return

    def settled(self, applied: int) -> int:
        """Global sequence through which all derived effects are done; at most `applied`."""
        return applied

    def idle(self, now_us: int) -> None:
        """Called about every 100 ms between batches, in the consumer's thread."""
        return

    def status(self) -> dict[str, object]:
        """What `aico-memory status` shows of this worker; JSON values."""
        return {}

    def export(self, user: str, after: str, limit: int) -> bus_pb2.ExportPage:
        """A page of the canonical export: sorted JSON lines, no operational fields."""
        return bus_pb2.ExportPage()

    def close(self) -> None:
        """Stop threads and close the store."""
        return

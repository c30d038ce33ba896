"""A semantic worker on its real store, with a twin of the bus and of the model."""

from __future__ import annotations

import threading
import uuid
from functools import lru_cache
from typing import Any
from unittest.mock import patch

from aico_memory.clock import FixedClock, from_us
from aico_memory.contracts.envelope import Event, make_record, open_record, open_reply
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import envelope_pb2, model_pb2, semantic_pb2, working_pb2
from aico_memory.contracts.wire import StampedRecord, reply_topic
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.errors import InvalidMessage, ModelUnavailable
from aico_memory.ids import derive_id, new_id
from aico_memory.log import get_logger
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.models.span_reader import SpanReader, load_span_reader
from aico_memory.models.twin import HashedEmbedder
from aico_memory.paths import Home, find_home
from aico_memory.runtime.ports import Ports
from aico_memory.settings.root import Settings
from aico_memory.vault.master import open_vault
from services.model.reading import read_words
from services.semantic.handlers import SemanticHandlers, build
from tests.support.twin_link import TwinLink

START = 1_772_000_000_000_000
REPLY = reply_topic("tester", bytes(8))


@lru_cache(maxsize=1)
def shipped_tables() -> FormationTables:
    """Read once for all workers of a run: no home of a test brings tables of its own."""
    return load_formation_tables(find_home())


@lru_cache(maxsize=1)
def shipped_reader() -> SpanReader:
    """Read once, too."""
    return load_span_reader(find_home())


def read(message: model_pb2.ReadRequest, user: str) -> model_pb2.ReadWords:
    """What the model service would read."""
    return read_words(Event(new_id(START), topic_of(message).name, user, message), shipped_reader())


class Worker:
    """A semantic worker; `say`, `tell` and `ask` are what the bus would bring."""

    def __init__(self, root, settings: dict[str, Any] | None = None):
        self.home = Home(root)
        self.home.ensure()
        self.settings = Settings.model_validate(
            {
                "write_path": {"work": {"embed_patience_seconds": 0.0}},
                "semantic": {"retry_first_ms": 1, "retry_limit_ms": 5, **(settings or {})},
            }
        )
        self.clock = FixedClock(from_us(START))
        self.model = HashedEmbedder()
        self.model_away = False
        self.link = TwinLink({model_pb2.EmbedRequest: self.embed, model_pb2.ReadRequest: read})
        self.moved = threading.Condition()
        self.sequence = 0
        # What the broker's clock showed before the first event.
        self.began_us = START
        self.handlers = self.start()

    def start(self) -> SemanticHandlers:
        vault = open_vault(self.home, self.settings.security, {})
        ports: Any = Ports(
            link=self.link, clock=self.clock, settings=self.settings, vault=vault, home=self.home,
            log=get_logger("semantic"), notify=self.notify,
        )  # fmt: skip
        with patch("services.semantic.handlers.load_formation_tables", lambda home: shipped_tables()):
            return build(ports)

    def restart(self):
        self.handlers.close()
        self.handlers = self.start()

    def notify(self):
        with self.moved:
            self.moved.notify_all()

    def embed(self, message, user):
        if self.model_away:
            raise ModelUnavailable("The model is away")
        assert "unfit" not in message.texts or len(message.texts) == 1 or self.refuse(message)
        if "unfit" in message.texts:
            self.refuse(message)
        rows = self.model.embed(list(message.texts))
        return model_pb2.Embeddings(vectors=rows.tobytes(), dimension=rows.shape[1], fingerprint=self.model.fingerprint)

    @staticmethod
    def refuse(message):
        raise InvalidMessage("This text cannot be embedded")

    def event(self, message, user="ada", event_id=None, reply=False) -> Event:
        self.sequence += 1
        self.clock.set(from_us(self.began_us + self.sequence * 1_000_000))
        now = self.clock.now_us()
        record = make_record(
            message, event_id=event_id or new_id(now), occurred_us=now, user=user, reply_to=REPLY if reply else ""
        )
        return open_record(StampedRecord(
            record.topic, record.event_id, record.user, record.envelope, "tester", self.sequence, self.sequence, now + 5
        ))  # fmt: skip

    def tell(self, message, user="ada", event_id=None, reply=False) -> Event:
        event = self.event(message, user, event_id, reply)
        self.handlers.prepare([event])
        with self.handlers.state.transaction() as transaction:
            self.handlers.apply(transaction, event)
            transaction.set_cursor(1, event.global_sequence)
        self.handlers.after_commit()
        return event

    def say(self, text, user="ada", **fields) -> str:
        said = working_pb2.Message(user_id=user, **{"role": "user", "content": text, "session_id": "s1", **fields})
        return str(derive_id(self.tell(said, user).event_id, "record"))

    def ask(self, message, user="ada"):
        event = self.event(message, user)
        return self.handlers.requests[event.topic](event, None)  # type: ignore[arg-type]

    def answered(self, message, user="ada"):
        """Tell it a durable command and open the reply that it emitted."""
        event = self.tell(message, user, reply=True)
        replies = [record for record in self.handlers.state.outgoing(1000) if record.topic == REPLY]
        envelope = envelope_pb2.Envelope.FromString(replies[-1].envelope)
        assert uuid.UUID(bytes=envelope.correlation_id) == event.event_id
        return open_reply(envelope_pb2.Reply.FromString(envelope.payload))

    def wait_for(self, condition):
        with self.moved:
            assert self.moved.wait_for(condition, 20.0) or condition()

    def settle(self):
        self.wait_for(lambda: self.handlers.settled(self.sequence) == self.sequence)

    def search(self, text="", user="ada", vector=True, **fields):
        query = semantic_pb2.SemanticQuery(text=text, limit=10, **fields)
        if vector:
            query.vector = self.model.embed([text]).tobytes()
            query.embedding_fingerprint = self.model.fingerprint
        return self.ask(query, user)

    def found(self, text, **fields):
        """Texts of the records that are found; items have tests of their own."""
        fields.setdefault("filters", semantic_pb2.SearchFilters(kinds=["record"]))
        answer = self.search(text, **fields)
        texts = {record.memory_id: record.text for record in answer.records}
        return {one.retriever: [texts[memory_id] for memory_id in one.memory_ids] for one in answer.lists}

    def emitted(self, kind):
        records = self.handlers.state.outgoing(1000)
        opened = [
            envelope_pb2.Envelope.FromString(record.envelope) for record in records if record.topic.split("/")[2] == kind[0]
        ]
        return [kind[1].FromString(envelope.payload) for envelope in opened]

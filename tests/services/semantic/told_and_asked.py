"""What was told, formed by the rules and applied to a twin store; and questions about it."""

from __future__ import annotations

from functools import partial
from typing import Any
from uuid import UUID

from aico_memory.clock import FixedClock, from_us
from aico_memory.contracts.envelope import Event
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import context_pb2, model_pb2
from aico_memory.domain import memory as semantic
from aico_memory.domain.formation.form import form
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.gate.statement import Statement
from aico_memory.domain.memory import RECORD, Evidence, Scope
from aico_memory.domain.retrieval.tokens import index_tokens
from aico_memory.domain.scopes import scope_of
from aico_memory.errors import ModelUnavailable
from aico_memory.ids import derive_id, new_id
from aico_memory.models.question_tables import load_routing
from aico_memory.models.reader_trust import load_trust
from aico_memory.models.span_reader import SpanReader
from aico_memory.models.twin import HashedEmbedder
from aico_memory.paths import find_home
from aico_memory.settings.identity import IdentitySettings
from aico_memory.settings.recall import RecallSettings
from aico_memory.settings.write_path import PolicySettings
from aico_memory.stores.semantic.twin import MemorySemanticStore
from services.model.reading import read_words
from services.semantic.policing import Policing
from services.semantic.recalling import Recalling
from services.semantic.said_alike import SaidAlike
from services.semantic.sharing import Sharing
from tests.support.statements import Shelf
from tests.support.twin_link import TwinLink

START = 1_772_000_000_000_000
DAY = 86_400_000_000


class Memory:
    """Messages said in scopes, formed by the rules and applied; and the questions about them."""

    def __init__(self, tables: FormationTables, reader: SpanReader | None = None, **settings: Any) -> None:
        self.tables = tables
        self.sharing = Sharing(tables)
        self.model = HashedEmbedder()
        self.model_away = False
        self.questions = 0
        self.store = MemorySemanticStore()
        self.shelves: dict[Scope, Shelf] = {}
        link = TwinLink({model_pb2.EmbedRequest: self.embed, model_pb2.ReadRequest: self.read})
        self.reader = reader
        identity = IdentitySettings(aliases={"discord:7": "ana"})
        clock = FixedClock(from_us(START + 1000 * DAY))
        figures = RecallSettings(**{"reader": reader is not None, **settings})
        parts = partial(load_routing(find_home()).parts, most=4)
        said = SaidAlike(self.store, tables, Policing(PolicySettings(), identity), figures)
        self.recalling = Recalling(
            self.store, tables, load_trust(find_home()), link, clock, figures, identity, "en", said, parts
        )

    def embed(self, message: model_pb2.EmbedRequest, user: str) -> model_pb2.Embeddings:
        self.questions += 1
        if self.model_away:
            raise ModelUnavailable("The model is away")
        rows = self.model.embed(list(message.texts))
        return model_pb2.Embeddings(vectors=rows.tobytes(), dimension=rows.shape[1], fingerprint=self.model.fingerprint)

    def read(self, message: model_pb2.ReadRequest, user: str) -> model_pb2.ReadWords:
        if self.model_away or self.reader is None:
            raise ModelUnavailable("The model is away")
        return read_words(Event(new_id(START), topic_of(message).name, user, message), self.reader)

    def say(
        self, text: str, day: float, user: str = "ana", group: str = "", project: str = "", name: str = "",
        role: str = "user",
    ) -> None:  # fmt: skip
        said_at_us = START + round(day * DAY)
        formed = form(text, role=role, speaker=name, said_at_us=said_at_us, zone="UTC", recent=(), tables=self.tables)
        scope = scope_of(user, group, project)
        event_id = new_id(said_at_us)
        self.record(event_id, text, said_at_us, user, scope, name, role)
        shelf = self.shelves.setdefault(scope, Shelf())
        for place, fact in enumerate(formed.facts):
            known = fact if scope.kind == "user" else self.sharing.told(fact, text, user, name)
            shelf.tell_one(Statement(
                derive_id(event_id, "item", place).bytes, event_id.bytes, place, scope, user, said_at_us, said_at_us, known,
                0.72, speaker=name,
            ))  # fmt: skip
        self.persist(shelf)

    def record(
        self, event_id: UUID, text: str, said_at_us: int, user: str, scope: Scope, name: str = "", role: str = "user"
    ) -> None:
        memory_id = derive_id(event_id, RECORD).bytes
        source = {"user": "user_message", "assistant": "assistant_message"}[role]
        record = semantic.Memory(
            memory_id, scope, user, RECORD, text, said_at_us, said_at_us, said_at_us, said_at_us, said_at_us, said_at_us,
            data_source=source, speaker=name,
        )  # fmt: skip
        evidence = Evidence(memory_id, event_id.bytes, "rule", said_at_us, said_at_us=said_at_us)
        with self.store.transaction() as transaction:
            transaction.add(record, (evidence,), index_tokens(text), 1)

    def persist(self, shelf: Shelf) -> None:
        with self.store.transaction() as transaction:
            for known in shelf.items.values():
                transaction.put_item(known, [], 1)
                vector = self.model.embed([known.memory.text])[0]
                transaction.keep_vector(known.memory.memory_id, self.model.fingerprint, vector)
                causes = {one.event_id for one in shelf.statements}
                mine = [one for one in shelf.changes if one.memory_id == known.memory.memory_id]
                transaction.put_history(known.memory.memory_id, causes, mine)
            for one in shelf.evidence:
                transaction.add_evidence(one)

    def ask(self, question: str, user: str = "ana", **fields: Any) -> context_pb2.RecallResult:
        request = context_pb2.RecallRequest(user_id=user, question=question, **fields)
        return self.recalling.recall(Event(new_id(START), "memory/context/recall/v1/", user, request))

    def values(self, question: str, user: str = "ana", **fields: Any) -> list[str]:
        return [one.value for one in self.ask(question, user, **fields).results]

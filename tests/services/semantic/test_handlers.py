"""The semantic worker on its real store, with a twin of the bus and of the model."""

from __future__ import annotations

import json
import threading
import uuid
from functools import lru_cache
from typing import Any
from unittest.mock import patch

import pytest

from aico_memory.clock import FixedClock, from_us
from aico_memory.contracts.envelope import Event, make_record, open_record, open_reply
from aico_memory.contracts.v1 import envelope_pb2, model_pb2, semantic_pb2, sleep_pb2, working_pb2
from aico_memory.contracts.wire import StampedRecord, reply_topic
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.errors import AccessDenied, InvalidMessage, ModelMismatch, ModelUnavailable, NotFound
from aico_memory.ids import derive_id, new_id
from aico_memory.log import get_logger
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.models.twin import HashedEmbedder
from aico_memory.paths import Home, find_home
from aico_memory.runtime.ports import Ports
from aico_memory.settings.root import Settings
from aico_memory.vault.master import open_vault
from services.semantic.handlers import SemanticHandlers, build
from tests.support.twin_link import TwinLink

START = 1_772_000_000_000_000
REPLY = reply_topic("tester", bytes(8))


@lru_cache(maxsize=1)
def shipped_tables() -> FormationTables:
    """Read once for all workers of a run: no home of a test brings tables of its own."""
    return load_formation_tables(find_home())


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
        self.link = TwinLink({model_pb2.EmbedRequest: self.embed})
        self.moved = threading.Condition()
        self.sequence = 0
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
        self.clock.set(from_us(START + self.sequence * 1_000_000))
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


@pytest.fixture
def worker(tmp_path):
    made = Worker(tmp_path / "home")
    yield made
    made.handlers.close()


def test_a_message_becomes_exactly_one_record_with_its_source(worker):
    said = working_pb2.Message(
        user_id="ada", role="assistant", content="Anna uses Python.", name="Bot", session_id="s7", said_at_us=123,
        metadata_json='{"mood": "calm"}',
    )  # fmt: skip
    event_id = new_id(START)
    worker.tell(said, event_id=event_id)
    worker.tell(said, event_id=event_id)
    (record,) = worker.ask(semantic_pb2.ListMemories(user_id="ada")).records
    assert record.memory_id == str(derive_id(event_id, "record"))
    assert (record.kind, record.tier, record.sub_tier, record.status) == ("record", "episodic", "observed", "active")
    assert (record.text, record.language, record.session_id, record.recorded_at_us) == ("Anna uses Python.", "", "s7", 123)
    assert list(record.entities) == ["entity://tech/python"]
    (source,) = record.sources
    assert (source.event_id, source.role, source.name, source.said_at_us) == (event_id.bytes, "assistant", "Bot", 123)
    assert (source.metadata_json, source.session_id, source.method) == ('{"mood": "calm"}', "s7", "rule")
    assert [one.action for one in worker.emitted(("changed", semantic_pb2.Changed))] == ["created"]


def test_a_tool_result_is_a_record_too(worker):
    worker.tell(working_pb2.ToolResult(user_id="ada", tool="weather", content="It rains in Oslo", session_id="s1"))
    worker.settle()
    assert worker.found("rain in Oslo")["text"] == ["It rains in Oslo"]


def test_every_record_is_found_by_words_and_by_vector_without_sleep(worker):
    worker.say("My bicycle has a flat tyre")
    worker.say("The soup needs more salt")
    worker.settle()
    assert worker.found("bicycles with flat tyres") == {
        "vector": ["My bicycle has a flat tyre", "The soup needs more salt"], "text": ["My bicycle has a flat tyre"]
    }  # fmt: skip


def test_an_undetermined_question_is_stemmed_in_the_languages_of_the_user(worker):
    worker.say("Bugün Ankara'da çok güzel evler gördüm ama yoruldum")
    assert worker.found("Ankara", vector=False)["text"] == ["Bugün Ankara'da çok güzel evler gördüm ama yoruldum"]


def test_who_said_it_is_found_by_name(worker):
    worker.say("I adopted a kitten", name="Mira")
    worker.say("I adopted a puppy", name="Tom")
    assert worker.found("Which pet has Mira?", vector=False)["text"] == ["I adopted a kitten"]


def test_no_user_finds_the_words_of_another(worker):
    worker.say("secret garden", user="ada")
    worker.say("garden gnome", user="ben")
    worker.settle()
    assert worker.found("garden", user="ben") == {"vector": ["garden gnome"], "text": ["garden gnome"]}
    memory_id = worker.say("more secrets", user="ada")
    assert not worker.ask(semantic_pb2.GetMemory(user_id="ben", memory_ids=[memory_id]), user="ben").records
    with pytest.raises(NotFound):
        worker.ask(semantic_pb2.MemoryHistoryRequest(user_id="ben", memory_id=memory_id), user="ben")
    foreign = [envelope_pb2.Scope(kind=envelope_pb2.SCOPE_KIND_USER, id="ada")]
    with pytest.raises(AccessDenied):
        worker.search("garden", user="ben", scopes=foreign)
    with pytest.raises(AccessDenied):
        worker.ask(semantic_pb2.ListMemories(user_id="ben", scopes=foreign), user="ben")
    with pytest.raises(NotFound):
        worker.answered(semantic_pb2.UpdateMemory(user_id="ben", memory_id=memory_id, text="mine"), user="ben")
    with pytest.raises(NotFound):
        worker.answered(semantic_pb2.InvalidateMemory(user_id="ben", memory_id=memory_id), user="ben")


def test_words_are_found_while_the_model_is_away_and_vectors_follow_when_it_is_back(worker):
    worker.model_away = True
    worker.say("My bicycle has a flat tyre")
    assert worker.found("bicycle")["text"] == ["My bicycle has a flat tyre"]
    assert worker.found("bicycle")["vector"] == []
    assert worker.handlers.settled(worker.sequence) == 0
    worker.model_away = False
    worker.settle()
    assert worker.found("bicycle")["vector"] == ["My bicycle has a flat tyre"]


def test_a_text_that_the_model_refuses_holds_nothing_up(worker):
    worker.model_away = True
    for text in ("first", "unfit", "last"):
        worker.say(text)
    worker.model_away = False
    worker.settle()
    assert set(worker.found("first")["vector"]) == {"first", "last"}
    assert worker.found("unfit")["text"] == ["unfit"]
    assert worker.handlers.status()["not_embedded"] == 1


def test_what_was_not_indexed_before_a_restart_is_indexed_after_it(worker):
    worker.model_away = True
    worker.say("My bicycle has a flat tyre")
    worker.handlers.close()
    worker.model_away = False
    worker.handlers = worker.start()
    worker.settle()
    assert worker.found("bicycle")["vector"] == ["My bicycle has a flat tyre"]


def test_an_edit_is_found_by_its_new_words_and_the_old_text_stays_known(worker):
    memory_id = worker.say("I live in Rome")
    known = worker.clock.now_us()
    page = worker.answered(
        semantic_pb2.UpdateMemory(user_id="ada", memory_id=memory_id, text="I live in Oslo", metadata_json='{"by": "hand"}')
    )
    assert [(one.memory_id, one.text, one.version) for one in page.records] == [(memory_id, "I live in Oslo", 2)]
    assert [one.method for one in page.records[0].sources] == ["rule", "user_explicit"]
    worker.settle()
    assert worker.found("Rome")["text"] == []
    assert worker.found("Oslo") == {"vector": ["I live in Oslo"], "text": ["I live in Oslo"]}
    then = worker.search("Rome", known_as_of_us=known)
    assert [(one.text, one.status) for one in then.records] == [("I live in Rome", "superseded")]
    assert [len(one.memory_ids) for one in then.lists] == [1, 1]
    assert [one.method for one in then.records[0].sources] == ["rule"]
    records = semantic_pb2.SearchFilters(kinds=["record"])
    assert len(worker.ask(semantic_pb2.ListMemories(user_id="ada", filters=records)).records) == 1
    changes = worker.ask(semantic_pb2.MemoryHistoryRequest(user_id="ada", memory_id=memory_id)).changes
    assert [(one.what, one.old_value, one.new_value) for one in changes] == [
        ("created", "", "I live in Rome"), ("text", "I live in Rome", "I live in Oslo")
    ]  # fmt: skip
    (record,) = worker.ask(semantic_pb2.GetMemory(user_id="ada", memory_ids=[memory_id])).records
    assert [(one.method, one.metadata_json) for one in record.sources] == [("rule", ""), ("user_explicit", '{"by": "hand"}')]


def test_a_deleted_memory_is_seen_only_by_who_asks_what_was_known_before(worker):
    memory_id = worker.say("I live in Rome")
    known = worker.clock.now_us()
    worker.settle()
    page = worker.answered(semantic_pb2.InvalidateMemory(user_id="ada", memory_id=memory_id, reason="wrong"))
    assert [(one.status, one.invalidated_at_us > known) for one in page.records] == [("invalid", True)]
    assert worker.found("Rome") == {"vector": [], "text": []}
    worker.settle()
    assert worker.found("Rome") == {"vector": [], "text": []}
    assert worker.found("Rome", known_as_of_us=known) == {"vector": ["I live in Rome"], "text": ["I live in Rome"]}
    assert worker.found("Rome", as_of_us=known) == {"vector": [], "text": []}
    again = worker.answered(semantic_pb2.InvalidateMemory(user_id="ada", memory_id=memory_id))
    assert again.records[0].invalidated_at_us == page.records[0].invalidated_at_us
    changes = worker.ask(semantic_pb2.MemoryHistoryRequest(user_id="ada", memory_id=memory_id)).changes
    assert [(one.what, one.new_value, one.reason) for one in changes[1:]] == [("status", "invalid", "wrong")]
    with pytest.raises(Exception, match="refused_transition"):
        worker.answered(semantic_pb2.UpdateMemory(user_id="ada", memory_id=memory_id, text="I live in Oslo"))


def test_an_unknown_or_malformed_id_is_answered_and_does_not_raise(worker):
    with pytest.raises(NotFound):
        worker.answered(semantic_pb2.UpdateMemory(user_id="ada", memory_id=str(uuid.UUID(int=7)), text="x"))
    with pytest.raises(InvalidMessage):
        worker.answered(semantic_pb2.InvalidateMemory(user_id="ada", memory_id="seven"))


def test_filters_narrow_both_lists(worker):
    worker.say("tea in the morning", session_id="s1", said_at_us=100)
    worker.say("tea in the evening", session_id="s2", said_at_us=200)
    worker.settle()
    both = ["tea in the evening"]
    for filters in ({"session_id": "s2"}, {"since_us": 150}, {"since_us": 200, "until_us": 201}):
        assert worker.found("tea", filters=semantic_pb2.SearchFilters(**filters)) == {"vector": both, "text": both}
    nothing = semantic_pb2.SearchFilters(kinds=["fact"])
    assert worker.found("tea", filters=nothing) == {"vector": [], "text": []}


def test_pages_follow_each_other_without_hole_or_double(worker):
    ids = [worker.say(f"note {number}") for number in range(7)]
    told, after = [], ""
    while True:
        page = worker.ask(semantic_pb2.ListMemories(user_id="ada", limit=3, after=after))
        told += [one.memory_id for one in page.records]
        if not page.next:
            break
        after = page.next
    assert told == sorted(ids)


def test_replay_names_the_records_once_and_counts_what_it_does_not_know(worker):
    events = [worker.tell(working_pb2.Message(user_id="ada", role="user", content=f"note {n}")).event_id for n in range(3)]
    stranger = worker.tell(working_pb2.Message(user_id="ben", role="user", content="mine"), user="ben").event_id
    batch = semantic_pb2.ReplayExperiences(
        run_id="r", user_id="ada", batch=4, event_ids=[*(one.bytes for one in events), stranger.bytes, bytes(16), b"x"]
    )
    for _ in range(2):
        worker.tell(batch)
    for replayed in worker.emitted(("replayed", semantic_pb2.ExperiencesReplayed)):
        assert (replayed.run_id, replayed.user_id, replayed.batch, replayed.unknown) == ("r", "ada", 4, 3)
        assert list(replayed.memory_ids) == [str(derive_id(one, "record")) for one in events]
    memory_ids = [derive_id(one, "record").bytes for one in events]
    found = worker.handlers.state.evidence(memory_ids)
    assert all([one.method for one in lines] == ["rule", "replay"] for lines in found.values())


def test_use_is_counted(worker):
    memory_id = worker.say("tea")
    worker.tell(semantic_pb2.MemoriesUsed(user_id="ada", memory_ids=[memory_id], at_us=5))
    (record,) = worker.ask(semantic_pb2.GetMemory(user_id="ada", memory_ids=[memory_id])).records
    assert record.access_count == 1


def test_another_model_is_refused_by_name_and_words_are_found_all_the_same(worker):
    worker.say("My bicycle has a flat tyre")
    worker.settle()
    before = worker.handlers.status()["fingerprint"]
    worker.model = HashedEmbedder(dimension=64)
    worker.restart()
    worker.say("The soup needs more salt")
    worker.settle()
    with pytest.raises(ModelMismatch, match=r"reindex --rebuild"):
        worker.search("bicycle", retrievers=["vector"])
    answer = worker.search("bicycle")
    assert list(answer.degraded) == ["vector: model_mismatch"]
    assert [one.retriever for one in answer.lists] == ["text"]
    assert worker.found("soup")["text"] == ["The soup needs more salt"]
    status = worker.handlers.status()
    assert (status["fingerprint"], status["model_mismatch"]) == (before, True)


def test_a_rebuild_embeds_everything_with_the_new_model_and_switches(worker):
    texts = ["My bicycle has a flat tyre", "The soup needs more salt", "Berlin is cold"]
    for text in texts:
        worker.say(text)
    worker.settle()
    worker.model = HashedEmbedder(dimension=64)
    worker.restart()
    worker.tell(semantic_pb2.Reindex(firing_id="f1", rebuild=True))
    worker.wait_for(lambda: bool(worker.emitted(("finished", sleep_pb2.JobFinished))))
    (finished,) = worker.emitted(("finished", sleep_pb2.JobFinished))
    assert (finished.firing_id, finished.outcome) == ("f1", "done")
    assert worker.handlers.status()["fingerprint"] == worker.model.fingerprint
    found = worker.found("bicycle")
    assert found["text"] == texts[:1]
    assert found["vector"][0] == texts[0]
    assert len(found["vector"]) == 3
    assert "maintenance" not in worker.handlers.status()


def test_a_rebuild_goes_on_after_a_restart_in_the_middle(tmp_path):
    worker = Worker(tmp_path / "home", {"embed_batch": 1})
    for number in range(6):
        worker.say(f"note {number}")
    worker.settle()
    worker.model = HashedEmbedder(dimension=64)
    worker.model_away = True
    worker.restart()
    worker.tell(semantic_pb2.Reindex(firing_id="f1", rebuild=True))
    worker.handlers.close()
    worker.model_away = False
    worker.handlers = worker.start()
    worker.wait_for(lambda: bool(worker.emitted(("finished", sleep_pb2.JobFinished))))
    assert len(worker.found("note")["vector"]) == 6
    worker.handlers.close()


def test_the_hourly_check_mends_an_index_that_lost_vectors(worker):
    worker.say("My bicycle has a flat tyre")
    worker.settle()
    assert len(worker.found("bicycle")["vector"]) == 1
    with worker.handlers.state.database.write() as connection:
        connection.execute("DELETE FROM vector")
    worker.tell(semantic_pb2.Reindex(firing_id="f2"))
    worker.wait_for(lambda: bool(worker.emitted(("finished", sleep_pb2.JobFinished))))
    assert worker.found("bicycle")["vector"] == ["My bicycle has a flat tyre"]
    worker.restart()
    worker.wait_for(lambda: len(worker.found("bicycle")["vector"]) == 1)


def test_equal_streams_give_equal_exports_and_the_omissions_are_listed(tmp_path):
    exports = []
    for turn in range(2):
        worker = Worker(tmp_path / str(turn))
        ids = [uuid.UUID(int=(number << 80) | (7 << 76) | (2 << 62)) for number in range(1, 7)]
        for number, event_id in enumerate(ids[:4]):
            said = working_pb2.Message(user_id="ada", role="user", content=f"note {number}", name="Ada", said_at_us=number + 1)
            worker.tell(said, event_id=event_id)
        memory_id = str(derive_id(ids[0], "record"))
        worker.tell(semantic_pb2.UpdateMemory(user_id="ada", memory_id=memory_id, text="changed"), event_id=ids[4])
        other = str(derive_id(ids[1], "record"))
        worker.tell(semantic_pb2.InvalidateMemory(user_id="ada", memory_id=other), event_id=ids[5])
        if turn:
            worker.tell(semantic_pb2.MemoriesUsed(user_id="ada", memory_ids=[memory_id], at_us=5))
            worker.tell(semantic_pb2.ReplayExperiences(run_id="r", user_id="ada", event_ids=[ids[0].bytes]))
        lines, after = [], ""
        while True:
            page = worker.handlers.export("ada", after, 2)
            lines += page.lines
            if not page.next:
                break
            after = page.next
        exports.append(lines)
        assert "semantic.memory.received_at_us" in page.omitted
        worker.handlers.close()
    assert exports[0] == exports[1]
    opened = [json.loads(line) for line in exports[0]]
    assert [one["key"] for one in opened] == sorted(one["key"] for one in opened)
    assert len(opened) == 5
    assert all(one["section"] == "semantic.memory" for one in opened)
    with pytest.raises(InvalidMessage):
        worker.handlers.export("ada", "no hex", 2)


@pytest.mark.parametrize("index", ["exact", "chroma"])
def test_either_index_answers_through_the_worker(tmp_path, index):
    worker = Worker(tmp_path / "home", {"index": index})
    worker.say("My bicycle has a flat tyre")
    worker.say("other things", user="ben")
    worker.settle()
    assert worker.found("bicycle")["vector"] == ["My bicycle has a flat tyre"]
    worker.restart()
    worker.wait_for(lambda: worker.found("bicycle").get("vector") == ["My bicycle has a flat tyre"])
    worker.handlers.close()

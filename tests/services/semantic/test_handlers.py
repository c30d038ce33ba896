"""The semantic worker's handlers: records, searches, edits, deletions, pages, the replay and the export."""

from __future__ import annotations

import json
import uuid

import pytest

from aico_memory.contracts.v1 import envelope_pb2, semantic_pb2, working_pb2
from aico_memory.errors import AccessDenied, InvalidMessage, NotFound
from aico_memory.ids import derive_id, new_id
from tests.services.semantic.worker import START, Worker


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
    # And what was made of the old words, which was believed then.
    assert sorted((one.text, one.status) for one in then.records) == [
        ("I live in Rome", "active"), ("User lives in Rome", "active")
    ]  # fmt: skip
    assert [len(one.memory_ids) for one in then.lists] == [2, 2]
    assert [[source.method for source in one.sources] for one in then.records if one.kind == "record"] == [["rule"]]
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
        told = [(one.event_id, list(one.memory_ids)) for one in replayed.led_to]
        assert told == [(one.bytes, [str(derive_id(one, "record"))]) for one in events]
    memory_ids = [derive_id(one, "record").bytes for one in events]
    found = worker.handlers.state.evidence(memory_ids)
    assert all([one.method for one in lines] == ["rule", "replay"] for lines in found.values())


def test_replay_tells_of_each_experience_which_items_it_led_to(worker):
    told = [worker.tell(working_pb2.Message(user_id="ada", role="user", content=text)) for text in ("I like tea", "Well")]
    worker.tell(semantic_pb2.ReplayExperiences(run_id="r", user_id="ada", event_ids=[one.event_id.bytes for one in told]))
    (replayed,) = worker.emitted(("replayed", semantic_pb2.ExperiencesReplayed))
    (liked,) = [one for one in worker.ask(semantic_pb2.ListMemories(user_id="ada")).records if one.kind == "preference"]
    expected = [{str(derive_id(told[0].event_id, "record")), liked.memory_id}, {str(derive_id(told[1].event_id, "record"))}]
    assert [set(one.memory_ids) for one in replayed.led_to] == expected


def test_use_is_counted(worker):
    memory_id = worker.say("tea")
    worker.tell(semantic_pb2.MemoriesUsed(user_id="ada", memory_ids=[memory_id], at_us=5))
    (record,) = worker.ask(semantic_pb2.GetMemory(user_id="ada", memory_ids=[memory_id])).records
    assert record.access_count == 1


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

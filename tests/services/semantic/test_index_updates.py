"""Bringing single memories, or all of a user's, up to date: words, vectors and links, and what was repaired is said."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest

from aico_memory.contracts.v1 import envelope_pb2, semantic_pb2
from aico_memory.domain.memory import Scope
from aico_memory.errors import AccessDenied, InvalidMessage, NotFound, ReadOnly
from services.semantic import index_updates
from tests.services.semantic.statements import set_policy

ADA = Scope("user", "ada")


def lose(worker, *memory_ids):
    """Words and vectors of these are gone, as after a fault of the disk."""
    listed = [uuid.UUID(one).bytes for one in memory_ids]
    with worker.handlers.state.database.write() as connection:
        for memory_id in listed:
            (row,) = connection.execute("SELECT row_no FROM memory WHERE memory_id = ?", (memory_id,)).fetchone()
            connection.execute("DELETE FROM vector WHERE row_no = ?", (row,))
            connection.execute("DELETE FROM memory_text WHERE rowid = ?", (row,))


def update(worker, *memory_ids, user="ada", **fields):
    answer = worker.answered(semantic_pb2.UpdateIndex(user_id=user, memory_ids=memory_ids, **fields), user)
    worker.settle()
    return answer


def test_one_memory_is_brought_up_to_date_and_no_other(worker):
    bicycle, soup = worker.say("My bicycle has a flat tyre"), worker.say("The soup needs more salt")
    worker.settle()
    lose(worker, bicycle, soup)
    assert worker.found("bicycle")["text"] == []
    worker.restart()
    answer = update(worker, bicycle)
    assert (answer.memories, answer.vectors, answer.repaired, answer.next) == (1, 1, 0, "")
    assert worker.found("bicycle")["text"] == worker.found("bicycle")["vector"] == ["My bicycle has a flat tyre"]
    assert worker.found("soup")["text"] == []
    assert update(worker, bicycle).vectors == 0


def test_all_that_a_user_has_is_brought_up_to_date_page_by_page(worker, monkeypatch):
    monkeypatch.setattr(index_updates, "MOST", 2)
    told = [worker.say(text) for text in ("My bicycle has a flat tyre", "The soup needs more salt", "Berlin is cold")]
    other = worker.say("Berlin is large", user="ben")
    worker.settle()
    lose(worker, *told, other)
    worker.restart()
    pages, after = [], None
    while after != "":
        pages.append(update(worker, after=after or ""))
        after = pages[-1].next
    held = worker.ask(semantic_pb2.ListMemories(user_id="ada", limit=100)).records
    assert sum(page.memories for page in pages) == len(held) and len(pages) > 1
    assert sum(page.vectors for page in pages) == 3
    assert worker.found("berlin")["text"] == ["Berlin is cold"]
    assert worker.found("berlin", user="ben")["text"] == []


def test_what_an_item_names_and_is_not_there_is_let_go_and_told(worker):
    worker.say("I live in Porto")
    worker.settle()
    (item,) = worker.ask(
        semantic_pb2.ListMemories(user_id="ada", filters=semantic_pb2.SearchFilters(kinds=["profile", "fact"]))
    ).records
    lost = uuid.uuid4()
    with worker.handlers.state.transaction() as transaction:
        (known,) = transaction.known([uuid.UUID(item.memory_id).bytes], [ADA])
        transaction.put_item(replace(known, memory=replace(known.memory, superseded_by=lost.bytes)), None, worker.sequence)
    answer = update(worker, item.memory_id)
    assert (answer.dangling, answer.repaired) == (1, 1)
    (finding,) = answer.findings
    assert (finding.memory_id, finding.decision, finding.rule) == (item.memory_id, "repaired", "dangling_reference")
    assert list(finding.others) == [str(lost)]
    assert worker.ask(semantic_pb2.GetMemory(user_id="ada", memory_ids=[item.memory_id])).records[0].superseded_by == ""
    again = update(worker, item.memory_id)
    assert (again.dangling, again.repaired, list(again.findings)) == (0, 0, [])
    assert again.links == answer.links - 1


def test_the_event_of_an_edit_is_a_proof_with_something_behind_it(worker):
    record = worker.say("My tea is Assam")
    worker.settle()
    (item,) = worker.ask(
        semantic_pb2.ListMemories(user_id="ada", filters=semantic_pb2.SearchFilters(kinds=["profile", "fact", "preference"]))
    ).records
    for memory_id, text in ((item.memory_id, "My tea is Darjeeling"), (record, "My tea is Ceylon")):
        worker.answered(semantic_pb2.UpdateMemory(user_id="ada", memory_id=memory_id, text=text))
    worker.settle()
    answer = update(worker)
    assert (answer.dangling, answer.without_record) == (0, 0)


def test_memories_of_others_too_many_at_once_and_read_only_scopes_are_refused(worker):
    own, other = worker.say("I live in Porto"), worker.say("I live in Rome", user="ben")
    worker.settle()
    refused = NotFound, InvalidMessage, AccessDenied
    named = (
        {"memory_ids": [own, other]},
        {"memory_ids": [own] * (index_updates.MOST + 1)},
        {"scopes": [envelope_pb2.Scope(kind=envelope_pb2.SCOPE_KIND_USER, id="ben")]},
    )
    for error, fields in zip(refused, named, strict=True):
        with pytest.raises(error):
            worker.answered(semantic_pb2.UpdateIndex(user_id="ada", **fields))
    set_policy(worker, ADA, read_only=True)
    with pytest.raises(ReadOnly):
        worker.answered(semantic_pb2.UpdateIndex(user_id="ada"))

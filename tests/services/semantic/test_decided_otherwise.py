"""What people decide about a memory (edits, reviews, deletions, policies) holds against the words of messages, too."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from aico_memory.contracts.v1 import context_pb2, semantic_pb2, temporal_pb2, write_path_pb2
from aico_memory.domain.graph.edges import Edge
from aico_memory.domain.memory import OPEN
from aico_memory.errors import InvalidMessage
from tests.services.semantic.statements import ADA, DAY, items, message, set_policy
from tests.services.semantic.worker import START, Worker

TEA = "My favourite tea is Earl Grey."
OF_TEA = "What is my favourite tea?"
HOME = "Where do I live?"


def recall(worker: Worker, question: str, **fields: Any) -> list[str]:
    answer = worker.ask(context_pb2.RecallRequest(user_id="ada", question=question, **fields))
    return [one.value for one in answer.results]


def current(worker: Worker) -> Any:
    """The only item that is no former text of another."""
    (found,) = [one for one in items(worker) if one.memory.version_of is None]
    return found


def update(worker: Worker, text: str) -> None:
    worker.answered(semantic_pb2.UpdateMemory(user_id="ada", memory_id=current(worker).memory.memory_id.hex(), text=text))


def delete(worker: Worker) -> None:
    worker.answered(semantic_pb2.InvalidateMemory(user_id="ada", memory_id=current(worker).memory.memory_id.hex()))


def review(worker: Worker, decision: str) -> None:
    memory_id = current(worker).memory.memory_id.hex()
    worker.answered(write_path_pb2.ReviewDecision(user_id="ada", memory_id=memory_id, decision=decision))


@pytest.mark.parametrize(
    ("said", "edited", "question", "values"),
    [
        ("I live in Rome.", "I live in Milan.", HOME, ["Milan"]),
        (TEA, "My favourite tea is Assam.", OF_TEA, ["Assam"]),
        ("I work at Bosch.", "I work at Siemens.", "Where do I work?", ["Siemens"]),
        ("I live in Rome.", "I no longer live in Rome.", HOME, []),
    ],
)
def test_an_edit_is_not_overruled_by_what_was_said_before(
    worker: Worker, said: str, edited: str, question: str, values: list[str]
) -> None:
    worker.say(said, said_at_us=START - 5 * DAY)
    before = recall(worker, question)
    known_us = worker.clock.now_us()
    update(worker, edited)
    assert recall(worker, question) == values
    assert recall(worker, question, known_as_of_us=known_us) != [] and before != values


def test_every_message_that_said_what_was_edited_is_out(worker: Worker) -> None:
    worker.say("I live in Rome.", said_at_us=START - 5 * DAY)
    worker.say("I live in Rome.", said_at_us=START - 4 * DAY)
    update(worker, "I live in Milan.")
    assert recall(worker, HOME) == ["Milan"]
    assert recall(worker, "Who lives in Rome?") == []


@pytest.mark.parametrize(
    ("policy", "said", "question"),
    [
        ({"require_approval_kinds": frozenset({"preference"})}, TEA, OF_TEA),
        ({"require_approval_kinds": frozenset({"profile"})}, "I live in Rome.", HOME),
        ({"mode": "manual"}, TEA, OF_TEA),
        ({"mode": "shadow"}, "I live in Rome.", HOME),
    ],
)
def test_what_a_reviewer_turned_down_is_answered_under_no_later_policy(
    worker: Worker, policy: dict[str, Any], said: str, question: str
) -> None:
    set_policy(worker, **policy)
    worker.say(said)
    assert recall(worker, question) == []
    review(worker, "reject")
    set_policy(worker)
    assert recall(worker, question) == []


@pytest.mark.parametrize("policy", [{"min_confidence": 0.9}, {"min_evidence": 2}])
def test_what_a_policy_holds_for_too_weak_is_answered_by_no_wording(worker: Worker, policy: dict[str, Any]) -> None:
    set_policy(worker, **policy)
    worker.say("I live in Rome.")
    worker.say(TEA)
    assert items(worker) == []
    assert recall(worker, HOME) == recall(worker, OF_TEA) == []


def test_what_was_deleted_does_not_come_back_with_an_older_message(worker: Worker) -> None:
    worker.say("I live in Rome.", said_at_us=START - 5 * DAY)
    delete(worker)
    late = worker.say("I live in Rome.", said_at_us=START - 9 * DAY)
    assert recall(worker, HOME) == []
    (record,) = worker.ask(semantic_pb2.GetMemory(user_id="ada", memory_ids=[late])).records
    assert record.status == "invalid"
    (told,) = [one for one in worker.emitted(("changed", semantic_pb2.Changed)) if list(one.memory_ids) == [late] and one.act]
    assert (told.action, told.act) == ("invalidated", "delete")
    worker.say("I live in Rome.")
    assert recall(worker, HOME) == ["Rome"], "said anew it is new"


def test_what_held_once_is_deleted_without_what_holds_again(worker: Worker) -> None:
    for days, text in ((30, "I live in Rome."), (20, "I moved to Oslo."), (10, "I moved to Rome.")):
        worker.say(text, said_at_us=START - days * DAY)
    first = min(items(worker), key=lambda one: one.memory.said_at_us).memory
    worker.answered(semantic_pb2.InvalidateMemory(user_id="ada", memory_id=first.memory_id.hex()))
    said = worker.tell(message("I live in Rome."))
    assert not [line for line in worker.handlers.state.explanation(said.event_id.bytes, [ADA]).trace if "failed" in line]
    assert recall(worker, HOME) == recall(worker, HOME, as_of_us=START - 5 * DAY) == ["Rome"]
    assert [one.memory.status for one in items(worker) if one.value == "Rome"] == ["invalid", "active"]


def test_a_promoted_item_names_each_message_once(worker: Worker) -> None:
    set_policy(worker, mode="manual")
    worker.say(TEA)
    review(worker, "promote")
    memory_id = current(worker).memory.memory_id
    assert len(worker.handlers.state.evidence([memory_id])[memory_id]) == 2
    (record,) = worker.ask(semantic_pb2.GetMemory(user_id="ada", memory_ids=[memory_id.hex()])).records
    assert [one.method for one in record.sources] == ["user_explicit"]


@pytest.mark.parametrize(
    ("said", "edited", "question", "reading"),
    [
        ("I like jazz.", "I hate jazz.", "What do I like?", ("dislikes", "jazz")),
        ("I live in Rome.", "My cat is called Miso.", HOME, ("attribute:cat", "Miso")),
        ("I live in Rome.", "I no longer live in Rome.", HOME, ("", "")),
        ("I live in Rome.", "I like tea and my cat is called Miso.", HOME, ("", "")),
    ],
)
def test_an_edit_that_speaks_of_something_else_is_read_as_that(
    worker: Worker, said: str, edited: str, question: str, reading: tuple[str, str]
) -> None:
    worker.say(said)
    update(worker, edited)
    item = current(worker)
    assert (item.predicate, item.value) == reading
    assert recall(worker, question) == []
    kept = worker.handlers.state.statement(item.memory.memory_id)
    assert kept is not None and (kept[0].fact.predicate, kept[0].fact.kind) == (reading[0], item.memory.kind)
    edge = worker.handlers.state.edge_of(item.memory.memory_id)
    assert edge is not None and _stated(worker, edge) == (None if not reading[0] else reading)


def _stated(worker: Worker, edge: Edge) -> tuple[str, str] | None:
    """What an edge tells at present."""
    named = {one.entity_id: one.name for one in worker.handlers.state.entities(ADA)}
    told = edge.predicate, edge.literal if edge.object is None else named[edge.object]
    return None if edge.valid_from_us >= OPEN else told


@pytest.mark.parametrize("text", ["   ", "\n\t", "x\x00y"])
def test_an_edit_to_nothing_is_refused(worker: Worker, text: str) -> None:
    worker.say("I live in Rome.")
    with pytest.raises(InvalidMessage):
        update(worker, text)
    assert current(worker).value == "Rome"


def test_who_is_one_by_a_merge_is_asked_for_by_either_name_until_it_is_undone(worker: Worker) -> None:
    worker.say("My friend Robert likes tea.")
    worker.say("Bob lives in Rome.")
    worker.say("Robert plays chess.")
    assert recall(worker, "Where does Robert live?") != ["Rome"] and recall(worker, "What does Bob like?") != ["tea"]
    done = worker.answered(temporal_pb2.MergeEntities(user_id="ada", kept="Robert", absorbed="Bob"))
    assert recall(worker, "Where does Robert live?") == recall(worker, "Where does Bob live?") == ["Rome"]
    assert recall(worker, "What does Bob like?") == recall(worker, "What does Robert like?") == ["tea"]
    found = worker.ask(context_pb2.CandidatesRequest(user_id="ada", questions=["Where does Robert live?"], limit=9, facts=True))
    assert [one.value for one in found.facts] == ["Rome"]
    worker.answered(temporal_pb2.UndoMerge(user_id="ada", merge_id=done.merge_id))
    assert recall(worker, "Where does Robert live?") != ["Rome"]


@pytest.mark.parametrize(("kept", "absorbed"), [("user", "Clara"), ("Clara", "user")])
def test_nobody_becomes_the_user(worker: Worker, kept: str, absorbed: str) -> None:
    worker.say("I like tea.")
    worker.say("Clara lives in Rome.")
    with pytest.raises(InvalidMessage):
        worker.answered(temporal_pb2.MergeEntities(user_id="ada", kept=kept, absorbed=absorbed))


def test_deleted_records_are_named_beside_what_is_at_hand(worker: Worker) -> None:
    worker.say(TEA)
    delete(worker)
    record = worker.say("The code of my locker is 4711.")
    worker.answered(semantic_pb2.InvalidateMemory(user_id="ada", memory_id=record))
    asked = context_pb2.CandidatesRequest(user_id="ada", hot=True)
    assert len(worker.ask(asked).withdrawn) == 2
    assert not worker.ask(context_pb2.CandidatesRequest(user_id="ada")).withdrawn


def test_promoting_what_was_said_twice_keeps_it_whatever_is_said_next(worker: Worker) -> None:
    set_policy(worker, mode="manual")
    worker.say("I live in Rome.", said_at_us=START - 9 * DAY)
    worker.say("I live in Rome.", said_at_us=START - 5 * DAY)
    first, second = sorted(items(worker), key=lambda one: one.memory.said_at_us)
    for one in (second, first):
        command = write_path_pb2.ReviewDecision(user_id="ada", memory_id=one.memory.memory_id.hex(), decision="promote")
        worker.answered(command)
    set_policy(worker)
    for _ in range(2):
        worker.say("I live in Rome.")
        assert recall(worker, HOME) == ["Rome"]
        assert recall(worker, HOME, as_of_us=START - 3 * DAY) == ["Rome"]
    assert sorted(one.memory.status for one in items(worker)) == ["active", "invalid"]


def test_an_edit_that_is_refused_leaves_nothing_behind(worker: Worker) -> None:
    worker.say("I like tea.")
    worker.say("I like coffee.")
    before, told = list(worker.handlers.export("ada", "", 999).lines), len(worker.emitted(("changed", semantic_pb2.Changed)))
    tea = next(one.memory.memory_id for one in items(worker) if one.value == "tea")
    with pytest.raises(InvalidMessage, match="already"):
        worker.answered(semantic_pb2.UpdateMemory(user_id="ada", memory_id=tea.hex(), text="I like coffee."))
    assert list(worker.handlers.export("ada", "", 999).lines) == before
    assert len(worker.emitted(("changed", semantic_pb2.Changed))) == told


@pytest.mark.parametrize("mode", ["manual", "shadow"])
def test_what_waited_for_review_was_believed_in_none_of_its_wordings(worker: Worker, mode: str) -> None:
    set_policy(worker, mode=mode)
    worker.say("I live in Rome.")
    update(worker, "I live in Milan.")
    (former,) = [one.memory for one in items(worker) if one.memory.version_of is not None]
    assert (former.status, former.invalidated_at_us) == ("invalid", former.recorded_at_us)
    known_us = worker.clock.now_us()
    review(worker, "promote")
    assert recall(worker, HOME) == ["Milan"]
    assert recall(worker, HOME, known_as_of_us=known_us) == []


def test_before_an_edit_was_known_a_message_answers_in_the_words_that_stood_then(worker: Worker) -> None:
    question = "Who fixed the gate?"
    record = worker.say("Bob fixed the gate.", said_at_us=START - 5 * DAY)
    known = [worker.clock.now_us()]
    for text in ("Carl fixed the gate.", "Dora fixed the gate."):
        worker.answered(semantic_pb2.UpdateMemory(user_id="ada", memory_id=record, text=text))
        known.append(worker.clock.now_us())
    assert [recall(worker, question, known_as_of_us=one) for one in known] == [["Bob"], ["Carl"], ["Dora"]]
    assert recall(worker, question, known_as_of_us=START - 6 * DAY) == []
    asked = context_pb2.RecallRequest(user_id="ada", question=question, known_as_of_us=known[0])
    (found,) = worker.ask(asked).results
    assert (uuid.UUID(found.id), found.memory, len(found.evidence)) == (uuid.UUID(record), "Bob fixed the gate.", 1)
    worker.answered(semantic_pb2.InvalidateMemory(user_id="ada", memory_id=record))
    assert [recall(worker, question, known_as_of_us=one) for one in known] == [[], [], []]


def test_before_it_was_taken_back_the_message_that_said_it_answers(worker: Worker) -> None:
    worker.say("I live in Rome, and Bob fixed the gate.", said_at_us=START - 5 * DAY)
    worker.say("I never lived in Rome.", said_at_us=START - 3 * DAY)
    question = "Who fixed the gate?"
    assert recall(worker, question) == recall(worker, HOME) == []
    assert recall(worker, question, known_as_of_us=START - 4 * DAY) == ["Bob"]

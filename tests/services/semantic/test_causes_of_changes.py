"""The evolution of facts that were edited, confirmed, or promoted from review: which step, and whose words taught it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import semantic_pb2, temporal_pb2, write_path_pb2
from tests.services.semantic.statements import ADA, items, message, set_policy, values
from tests.services.semantic.worker import Worker


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    made = Worker(tmp_path / "home")
    yield made
    made.handlers.close()


def id_of(worker: Worker, value: str) -> str:
    return next(str(uuid.UUID(bytes=one.memory.memory_id)) for one in items(worker) if one.value == value)


def steps(worker: Worker) -> list[Any]:
    about = temporal_pb2.FactsAbout(predicate="home_city")
    return list(worker.ask(temporal_pb2.EvolutionRequest(user_id="ada", about=about)).steps)


def told(worker: Worker) -> list[tuple[str, bytes]]:
    return [(one.what, one.cause_event_id) for one in steps(worker)]


def edit(worker: Worker, memory_id: str, text: str) -> Event:
    return worker.tell(semantic_pb2.UpdateMemory(user_id="ada", memory_id=memory_id, text=text))


def promote(worker: Worker, value: str) -> write_path_pb2.ReviewOutcome:
    command = write_path_pb2.ReviewDecision(user_id="ada", memory_id=id_of(worker, value), decision="promote")
    outcome: write_path_pb2.ReviewOutcome = worker.answered(command)
    return outcome


def test_an_edit_is_the_cause_of_its_own_words_and_the_message_of_those_before(worker: Worker) -> None:
    said = worker.tell(message("I live in Rome."))
    rome = id_of(worker, "Rome")
    first = edit(worker, rome, "User lives in Oslo")
    second = edit(worker, rome, "User lives in Bergen")
    causes = [one.event_id.bytes for one in (said, first, second)]
    assert told(worker) == list(zip(("stated", "corrected", "corrected"), causes, strict=True))
    assert [one.new_text for one in steps(worker)][1:] == ["User lives in Oslo", "User lives in Bergen"]


def test_what_is_said_again_is_confirmed_by_each_message_that_says_so(worker: Worker) -> None:
    texts = ("I live in Rome.", "I live in Rome.", "Yes, I still live in Rome.")
    said = [worker.tell(message(text)).event_id.bytes for text in texts]
    assert told(worker) == [("stated", said[0]), ("confirmed", said[1]), ("confirmed", said[2])]
    moved = worker.tell(message("I moved to Oslo")).event_id.bytes
    assert told(worker)[3:] == [("changed", moved)]


def test_a_confirmation_before_an_edit_confirms_the_words_that_stood_then(worker: Worker) -> None:
    said = [worker.tell(message("I live in Rome.")).event_id.bytes for _ in range(2)]
    edited = edit(worker, id_of(worker, "Rome"), "User lives in Oslo").event_id.bytes
    assert told(worker) == [("stated", said[0]), ("confirmed", said[1]), ("corrected", edited)]


@pytest.mark.parametrize("at_once", [False, True])
def test_promoted_facts_are_stated_and_changed_by_whoever_said_them(worker: Worker, at_once: bool) -> None:
    set_policy(worker, mode="manual")
    rome = worker.tell(message("I live in Rome.")).event_id.bytes
    if not at_once:
        promote(worker, "Rome")
    oslo = worker.tell(message("I moved to Oslo.")).event_id.bytes
    if at_once:
        promote(worker, "Rome")
    assert told(worker) == [("stated", rome)]
    promote(worker, "Oslo")
    assert told(worker) == [("stated", rome), ("changed", oslo)]
    assert values(worker) == [("Rome", "superseded"), ("Oslo", "active")]
    known = [one.known_at_us for one in steps(worker)]
    snapshot = temporal_pb2.StateRequest(user_id="ada", at_us=known[1] - 1, snapshot=True)
    assert [fact.value for fact in worker.ask(snapshot).facts] == ["Rome"], "what waited was no answer then"


def test_a_candidate_that_was_denied_meanwhile_is_promoted_into_what_the_denial_made_of_it(worker: Worker) -> None:
    set_policy(worker, mode="manual")
    worker.say("I live in Rome.")
    set_policy(worker)
    worker.say("I never lived in Rome.")
    outcome = promote(worker, "Rome")
    assert values(worker, ADA) == [("Rome", "disabled")]
    assert (outcome.action, outcome.rule, outcome.record.status) == ("RETRACT", "retracted_since", "disabled")


def test_what_was_deleted_is_told_apart_from_what_was_never_true(worker: Worker) -> None:
    told_of = [worker.tell(message(text)).event_id.bytes for text in ("I live in Rome.", "That was never true.")]
    assert told(worker) == list(zip(("stated", "retracted"), told_of, strict=True))
    oslo = worker.tell(message("I live in Oslo.")).event_id.bytes
    gone = worker.tell(semantic_pb2.InvalidateMemory(user_id="ada", memory_id=id_of(worker, "Oslo"))).event_id.bytes
    assert told(worker)[2:] == [("stated", oslo), ("deleted", gone)]
    again = worker.tell(message("I live in Oslo.")).event_id.bytes
    assert told(worker)[2:] == [("stated", oslo), ("deleted", gone), ("stated", again)]


def test_a_deletion_after_a_retraction_is_no_step_of_its_own(worker: Worker) -> None:
    for text in ("I live in Rome.", "That was never true."):
        worker.tell(message(text))
    before = told(worker)
    worker.tell(semantic_pb2.InvalidateMemory(user_id="ada", memory_id=id_of(worker, "Rome")))
    assert told(worker) == before


def test_what_was_over_and_is_deleted_is_deleted(worker: Worker) -> None:
    for text in ("I live in Rome.", "I moved to Oslo."):
        worker.tell(message(text))
    gone = worker.tell(semantic_pb2.InvalidateMemory(user_id="ada", memory_id=id_of(worker, "Rome"))).event_id.bytes
    assert told(worker)[2:] == [("deleted", gone)]

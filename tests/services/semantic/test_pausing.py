"""A person pauses their long-term memory: what they say is kept and makes nothing, until it goes on."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from aico_memory.contracts.v1 import behavioral_pb2, context_pb2, semantic_pb2, sleep_pb2, working_pb2
from aico_memory.domain.memory import RECORD, Scope
from aico_memory.domain.sleep import names
from tests.services.semantic.statements import ADA, items, message, replay, set_policy, values
from tests.services.semantic.worker import START, Worker

GROUP = Scope("group", "g")
BOB = Scope("user", "bob")


def consent(worker: Worker, on: bool | None, user: str = "ada", **fields: Any) -> None:
    given = fields if on is None else {"long_term": on, **fields}
    worker.tell(behavioral_pb2.ConsentChanged(user_id=user, **given), user)


def record_ids(worker: Worker, scope: Scope = ADA) -> set[str]:
    found = worker.handlers.state.export(scope.id, b"", 99)
    return {str(uuid.UUID(bytes=one.memory_id)) for one in found if one.kind == RECORD}


def id_of(worker: Worker, value: str) -> str:
    return next(str(uuid.UUID(bytes=one.memory.memory_id)) for one in items(worker) if one.value == value)


def recalled(worker: Worker, question: str) -> list[str]:
    return [one.value for one in worker.ask(context_pb2.RecallRequest(user_id="ada", question=question)).results]


def told_why(worker: Worker, said: uuid.UUID) -> list[str]:
    explained = worker.handlers.state.explanation(said.bytes, [ADA])
    assert explained is not None
    return [one.rule for one in explained.outcomes]


def test_what_is_said_in_a_pause_is_kept_and_becomes_items_only_when_it_is_over(worker: Worker) -> None:
    worker.say("I live in Rome")
    consent(worker, False)
    worker.restart()
    said = worker.tell(message("I moved to Oslo"))
    kept = worker.say("My name is Ada")
    assert values(worker) == [("Rome", "active")]
    assert kept in record_ids(worker) and len(record_ids(worker)) == 3
    assert told_why(worker, said.event_id) == ["long_term_paused"]
    replay(worker, said.event_id)
    assert values(worker) == [("Rome", "active")]
    consent(worker, True)
    replay(worker, said.event_id)
    assert dict(values(worker)) == {"Rome": "superseded", "Oslo": "active", "Ada": "active"}


def test_a_pause_is_one_persons_wherever_they_speak(worker: Worker) -> None:
    consent(worker, False)
    worker.say("My kayak is green", group_id="g")
    worker.say("My bike is red", "bob")
    worker.say("My tent is blue", "bob", group_id="g")
    assert items(worker, ADA) == []
    assert values(worker, BOB) == [("red", "active")]
    assert values(worker, GROUP) == [("blue", "active")]


def test_consent_that_says_nothing_of_long_term_memory_changes_nothing_of_it(worker: Worker) -> None:
    consent(worker, None, behavioral=True)
    worker.say("I live in Rome")
    consent(worker, False)
    consent(worker, None, behavioral=False)
    worker.say("I like tea")
    assert values(worker) == [("Rome", "active")]


def test_a_pause_lifts_no_policy_and_no_policy_lifts_a_pause(worker: Worker) -> None:
    set_policy(worker, ADA, read_only=True)
    consent(worker, True)
    worker.say("I live in Rome")
    assert values(worker) == []
    consent(worker, False)
    set_policy(worker, ADA)
    worker.say("I like tea")
    assert values(worker) == []


def test_in_a_pause_a_person_can_still_delete_and_what_they_deleted_does_not_come_up_later(worker: Worker) -> None:
    worker.say("I live in Rome")
    consent(worker, False)
    gone = worker.say("I like tea")
    worker.say("My name is Ada")
    worker.answered(semantic_pb2.InvalidateMemory(user_id="ada", memory_id=id_of(worker, "Rome")))
    worker.answered(semantic_pb2.InvalidateMemory(user_id="ada", memory_id=gone))
    consent(worker, True)
    replay(worker, uuid.uuid4())
    assert dict(values(worker)) == {"Rome": "invalid", "Ada": "active"}
    assert worker.handlers.state.waiting("ada", (), 9) == []


def test_use_and_nights_leave_the_items_of_a_paused_memory_as_they_are(worker: Worker) -> None:
    worker.say("I live in Rome")
    worker.say("My bike is red", "bob")
    consent(worker, False)
    before = items(worker)
    turn = working_pb2.Turn(user_id="ada", interaction_id="i1", input="Where?", response="User lives in Rome.", reinforce=True)
    worker.tell(turn)
    worker.tell(semantic_pb2.MemoriesUsed(user_id="ada", memory_ids=[id_of(worker, "Rome")]))
    for user, error, counts in (("ada", "long_term_paused", {}), ("bob", "", {"decayed": 1})):
        worker.tell(sleep_pb2.SleepStep(run_id="r", user_id=user, phase=names.DECAY, at_us=START + 30 * 86_400_000_000), user)
        done = worker.emitted(("slept", sleep_pb2.SleepStepDone))[-1]
        assert (done.error, {name: count for name, count in done.counts.items() if name == "decayed"}) == (error, counts)
    assert items(worker) == before


def test_what_was_said_in_a_pause_is_not_answered_by_its_wording_and_what_was_said_before_is(worker: Worker) -> None:
    worker.say("Unseren Strom beziehen wir von Vattenfall.")
    consent(worker, False)
    worker.say("Unser Gas beziehen wir von Eon.")
    power, gas = "Von wem beziehen wir unseren Strom?", "Von wem beziehen wir unser Gas?"
    assert recalled(worker, power) == ["Vattenfall"]
    assert "Eon" not in recalled(worker, gas)
    consent(worker, True)
    assert recalled(worker, gas) == ["Eon"]


@pytest.mark.parametrize("paused", [True, False])
def test_the_export_of_a_person_tells_that_their_memory_is_paused(worker: Worker, paused: bool) -> None:
    consent(worker, False)
    consent(worker, False)
    if not paused:
        consent(worker, True)
    found = [json.loads(line) for line in worker.handlers.export("ada", "", 99).lines]
    assert [one["since_us"] for one in found if one["section"] == "semantic.paused"] == [START + 1_000_000] * paused


def test_the_same_stream_leads_to_the_same_state(tmp_path: Any) -> None:
    exports = []
    for place in ("one", "two"):
        made = Worker(tmp_path / place)
        for number, (text, on) in enumerate((("I live in Rome", None), ("I like tea", False), ("I own a kayak", True))):
            if on is not None:
                made.tell(behavioral_pb2.ConsentChanged(user_id="ada", long_term=on), event_id=uuid.UUID(int=50 + number))
            made.tell(message(text), event_id=uuid.UUID(int=1 + number))
        exports.append(list(made.handlers.export("ada", "", 99).lines))
        made.handlers.close()
    assert exports[0] == exports[1]
    assert any("Rome" in line for line in exports[0])

"""What is superseded, expired or disabled is brought back in review, and what is said later finds it so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from aico_memory.contracts.v1 import context_pb2, semantic_pb2, temporal_pb2, write_path_pb2
from aico_memory.errors import ImmutableItem, RefusedTransition
from tests.services.semantic.statements import exported, items, values
from tests.services.semantic.worker import Worker


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    made = Worker(tmp_path / "home")
    yield made
    made.handlers.close()


def id_of(worker: Worker, value: str) -> str:
    return next(one.memory.memory_id.hex() for one in items(worker) if one.value == value)


def promote(worker: Worker, value: str) -> write_path_pb2.ReviewOutcome:
    command = write_path_pb2.ReviewDecision(user_id="ada", memory_id=id_of(worker, value), decision="promote")
    outcome: write_path_pb2.ReviewOutcome = worker.answered(command)
    return outcome


def recalled(worker: Worker, question: str) -> list[str]:
    return [one.value for one in worker.ask(context_pb2.RecallRequest(user_id="ada", question=question)).results]


def steps(worker: Worker, predicate: str) -> list[str]:
    about = temporal_pb2.FactsAbout(predicate=predicate)
    return [one.what for one in worker.ask(temporal_pb2.EvolutionRequest(user_id="ada", about=about)).steps]


@pytest.mark.parametrize(
    ("told", "value", "question", "was", "history"),
    [
        (("I work at Acme.", "I left Acme."), "Acme", "Where do I work?", "expired", ("employer", "ended")),
        (("I live in Rome.", "That was never true."), "Rome", "Where do I live?", "disabled", ("home_city", "retracted")),
        (("I play chess.", "I gave up chess."), "chess", "What do I play?", "expired", ("plays", "ended")),
    ],
)
def test_what_was_over_holds_again(
    worker: Worker, told: tuple[str, ...], value: str, question: str, was: str, history: tuple[str, str]
) -> None:
    for text in told:
        worker.say(text)
    assert values(worker) == [(value, was)] and recalled(worker, question) == []
    outcome = promote(worker, value)
    assert (outcome.record.status, outcome.rule, list(outcome.changed)) == ("active", "brought_back", [])
    assert recalled(worker, question) == [value]
    assert steps(worker, history[0]) == ["stated", history[1], "reopened"]
    worker.say(told[0])
    assert values(worker) == [(value, "active")]
    worker.say(told[1])
    assert values(worker) == [(value, was)]


def test_of_what_has_one_value_the_other_ends(worker: Worker) -> None:
    for text in ("I live in Rome.", "I moved to Oslo."):
        worker.say(text)
    before = worker.clock.now_us()
    outcome = promote(worker, "Rome")
    assert [one.replace("-", "") for one in outcome.changed] == [id_of(worker, "Oslo")]
    assert dict(values(worker)) == {"Rome": "active", "Oslo": "superseded"}
    then = worker.ask(temporal_pb2.StateRequest(user_id="ada", at_us=before)).facts
    assert [one.value for one in then] == ["Oslo"]
    assert recalled(worker, "Where do I live?") == ["Rome"]
    worker.say("I moved to Bergen.")
    assert dict(values(worker)) == {"Rome": "superseded", "Oslo": "superseded", "Bergen": "active"}


def test_what_holds_already_was_deleted_or_stands_against_something_immutable_stays(worker: Worker) -> None:
    for text in ("I live in Rome.", "I moved to Oslo.", "I moved to Rome."):
        worker.say(text)
    first = min((one for one in items(worker) if one.value == "Rome"), key=lambda one: one.memory.said_at_us)
    command = write_path_pb2.ReviewDecision(user_id="ada", memory_id=first.memory.memory_id.hex(), decision="promote")
    before = exported(worker)
    with pytest.raises(RefusedTransition, match="superseded and does not come back"):
        worker.answered(command)
    assert exported(worker) == before
    now = max((one for one in items(worker) if one.value == "Rome"), key=lambda one: one.memory.said_at_us)
    worker.answered(
        semantic_pb2.AnchorMemory(user_id="ada", memory_id=now.memory.memory_id.hex(), immutable=True, reason="sure")
    )
    with pytest.raises(ImmutableItem):
        promote(worker, "Oslo")
    worker.answered(semantic_pb2.InvalidateMemory(user_id="ada", memory_id=first.memory.memory_id.hex()))
    with pytest.raises(RefusedTransition, match="invalid does not lead to active"):
        worker.answered(command)

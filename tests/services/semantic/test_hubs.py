"""The hub of an entity by what people say: what is told of whom, wherever in the sentence the name stands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from aico_memory.contracts.v1 import temporal_pb2
from tests.services.semantic.worker import Worker


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    made = Worker(tmp_path / "home")
    yield made
    made.handlers.close()


def hub(worker: Worker, name: str, **fields: str) -> list[str]:
    return [one.text for one in worker.ask(temporal_pb2.HubRequest(user_id="ada", entity=name, **fields)).records]


def test_a_name_at_the_beginning_of_a_sentence_is_mentioned_too(worker: Worker) -> None:
    for text in ("Anna lives in Berlin.", "Anna plays the cello.", "My brother is called Karl.", "Karl works at Siemens."):
        worker.say(text)
    assert hub(worker, "Anna") == ["Anna plays the cello", "Anna lives in Berlin"]
    assert hub(worker, "karl") == ["Karl works at Siemens", "User's brother is called Karl"]
    assert hub(worker, "Berlin") == ["Anna lives in Berlin"]
    assert hub(worker, "Zoe") == []


def test_a_member_of_a_group_is_found_by_name_and_by_another_that_they_were_found_to_be(worker: Worker) -> None:
    worker.say("I live in Leeds.", "ben", name="Ben", group_id="g")
    assert hub(worker, "Ben", group_id="g") == ["Ben lives in Leeds"]
    assert hub(worker, "Ben") == []
    for text in ("Robert plays chess.", "Bob lives in Hull."):
        worker.say(text)
    worker.answered(temporal_pb2.MergeEntities(user_id="ada", kept="Robert", absorbed="Bob"))
    assert hub(worker, "Robert") == ["Bob lives in Hull", "Robert plays chess"]

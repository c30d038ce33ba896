"""Questions about time in a group: its members are asked for by the names that they go by."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aico_memory.contracts.v1 import temporal_pb2
from aico_memory.errors import NotFound
from tests.services.semantic.worker import Worker


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    made = Worker(tmp_path / "home")
    yield made
    made.handlers.close()


def about(subject: str) -> temporal_pb2.FactsAbout:
    return temporal_pb2.FactsAbout(subject=subject, predicate="home_city")


def held(worker: Worker, subject: str, user: str = "ada", **fields: Any) -> list[str]:
    request = temporal_pb2.StateRequest(user_id=user, about=about(subject), **fields)
    return [one.value for one in worker.ask(request, user).facts]


def changes(worker: Worker, subject: str, **fields: Any) -> list[str]:
    request = temporal_pb2.EvolutionRequest(user_id="ada", about=about(subject), **fields)
    return [one.what for one in worker.ask(request).steps]


def test_facts_of_another_member_are_found_by_name_and_reading(worker: Worker) -> None:
    for user, text in (
        ("ben", "I live in Leeds."), ("ada", "I live in Rome."), ("ben", "I moved to York."),
        ("ben", "My sister lives in Hull."), ("ada", "My sister lives in Bern."),
    ):  # fmt: skip
        worker.say(text, user, name=user.title(), group_id="g")
    assert [held(worker, subject, group_id="g") for subject in ("ben", "Ben", "user", "")] == [
        ["York"], ["York"], ["Rome"], ["Rome"],
    ]  # fmt: skip
    assert [held(worker, "ben sister", group_id="g"), held(worker, "sister", group_id="g")] == [["Hull"], ["Bern"]]
    assert held(worker, "ada", "ben", group_id="g") == ["Rome"]
    assert changes(worker, "ben", group_id="g") == ["stated", "changed"]
    assert held(worker, "ben") == []
    with pytest.raises(NotFound):
        changes(worker, "zoe", group_id="g")


def test_what_is_told_of_a_member_by_another_stands_beside_what_they_say(worker: Worker) -> None:
    worker.say("I live in Leeds.", "ben", name="Ben", group_id="g")
    worker.say("Ben lives in Hull.", "ada", name="Ada", group_id="g")
    assert sorted(held(worker, "ben", group_id="g")) == ["Hull", "Leeds"]

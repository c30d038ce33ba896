"""Merges of entities that are undone: what was said of each meanwhile is of each alone again."""

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


def merge(worker: Worker, kept: str, absorbed: str) -> str:
    done: temporal_pb2.EntityMerge = worker.answered(temporal_pb2.MergeEntities(user_id="ada", kept=kept, absorbed=absorbed))
    return done.merge_id


def undo(worker: Worker, merge_id: str) -> None:
    worker.answered(temporal_pb2.UndoMerge(user_id="ada", merge_id=merge_id))


def around(worker: Worker, name: str) -> list[tuple[str, str]]:
    found = worker.ask(temporal_pb2.NeighboursRequest(user_id="ada", entity=name)).edges
    return sorted((one.subject, one.object) for one in found)


def one_with(worker: Worker, name: str) -> list[str]:
    (found,) = worker.ask(temporal_pb2.EntitiesRequest(user_id="ada", name=name)).entities
    return sorted([found.name, *found.aliases])


def test_what_was_said_of_one_while_it_stood_for_another_stays_with_it(worker: Worker) -> None:
    for text in ("Karl works at Siemens.", "Anna lives in Leeds."):
        worker.say(text)
    done = merge(worker, "Karl", "Anna")
    worker.say("Anna plays chess.")
    assert around(worker, "Karl") == [("karl", "Leeds"), ("karl", "Siemens"), ("karl", "chess")]
    undo(worker, done)
    assert around(worker, "Karl") == [("karl", "Siemens")]
    assert around(worker, "Anna") == [("anna", "Leeds"), ("anna", "chess")]


def test_each_of_two_merges_is_undone_by_itself(worker: Worker) -> None:
    for text in ("Robert Smith lives in Leeds.", "Bob lives in Hull.", "Bobby lives in York."):
        worker.say(text)
    first = merge(worker, "Robert Smith", "Bob")
    second = merge(worker, "Bob", "Bobby")
    assert one_with(worker, "Bobby") == ["bob", "bobby", "robert smith"]
    undo(worker, first)
    assert one_with(worker, "Robert Smith") == ["robert smith"]
    assert one_with(worker, "Bobby") == ["bob", "bobby"]
    undo(worker, second)
    assert one_with(worker, "Bobby") == ["bobby"]

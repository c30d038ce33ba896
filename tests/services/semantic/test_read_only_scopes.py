"""The emergency switch of a scope: while it is on no verb changes an item, and afterwards each does."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aico_memory.contracts.v1 import semantic_pb2, temporal_pb2, working_pb2, write_path_pb2
from aico_memory.domain.scopes import GLOBAL
from aico_memory.errors import ReadOnly
from tests.services.semantic.statements import ADA, exported, items, set_policy, values
from tests.services.semantic.worker import Worker


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    made = Worker(tmp_path / "home")
    yield made
    made.handlers.close()


def stop(worker: Worker, on: bool = True) -> None:
    command = write_path_pb2.PolicyChange(action="read_only", read_only=on)
    assert worker.answered(command, user="").effective.read_only is on


def id_of(worker: Worker, value: str) -> str:
    return next(str(uuid.UUID(bytes=one.memory.memory_id)) for one in items(worker) if one.value == value)


def item_lines(worker: Worker) -> list[str]:
    return [line for line in exported(worker) if '"section":"policy"' not in line and "write_policy" not in line]


def commands(worker: Worker) -> list[Any]:
    rome, oslo, tea = (id_of(worker, value) for value in ("Rome", "Oslo", "tea"))
    return [
        semantic_pb2.UpdateMemory(user_id="ada", memory_id=rome, text="User lives in Bern"),
        semantic_pb2.AnchorMemory(user_id="ada", memory_id=rome, pinned=True),
        semantic_pb2.InvalidateMemory(user_id="ada", memory_id=tea),
        write_path_pb2.MemoriesJudged(user_id="ada", memory_ids=[rome], helpful=True),
        write_path_pb2.ReinforceInteraction(user_id="ada", interaction_id="i1"),
        write_path_pb2.ReviewDecision(user_id="ada", memory_id=oslo, decision="reject"),
        semantic_pb2.UpdateIndex(user_id="ada", memory_ids=[rome]),
    ]


def known(worker: Worker) -> str:
    """Rome, tea, Oslo that waits, and an interaction that used nothing yet; the id of the message about tea."""
    worker.say("I live in Rome")
    record = worker.say("I like tea")
    turn = working_pb2.Turn(user_id="ada", interaction_id="i1", input="Where?", response="User lives in Rome.", reinforce=False)
    worker.tell(turn)
    set_policy(worker, mode="manual")
    worker.say("I moved to Oslo")
    return record


def test_while_the_switch_is_on_every_verb_on_items_is_refused_and_off_again_each_is_done(worker: Worker) -> None:
    record = known(worker)
    set_policy(worker, GLOBAL)
    stop(worker)
    before = item_lines(worker)
    for command in [
        *commands(worker),
        write_path_pb2.ReviewDecision(user_id="ada", memory_id=id_of(worker, "Oslo"), decision="promote"),
        semantic_pb2.InvalidateMemory(user_id="ada", memory_id=record),
    ]:
        with pytest.raises(ReadOnly, match="read-only"):
            worker.answered(command)
    assert item_lines(worker) == before
    stop(worker, on=False)
    for command in commands(worker):
        worker.answered(command)


def test_a_merge_and_its_undoing_are_refused_too(worker: Worker) -> None:
    worker.say("My sister is called Anna")
    worker.say("My friend is called Annie")
    merge = temporal_pb2.MergeEntities(user_id="ada", kept="Anna", absorbed="Annie")
    stop(worker)
    with pytest.raises(ReadOnly):
        worker.answered(merge)
    stop(worker, on=False)
    done = worker.answered(merge)
    stop(worker)
    with pytest.raises(ReadOnly):
        worker.answered(temporal_pb2.UndoMerge(user_id="ada", merge_id=done.merge_id))


def test_use_changes_no_item_and_a_message_that_states_nothing_can_be_deleted(worker: Worker) -> None:
    worker.say("I live in Rome")
    small_talk = worker.say("Good morning, lovely weather today!")
    stop(worker)
    before = items(worker)
    turn = working_pb2.Turn(user_id="ada", interaction_id="i1", input="Where?", response="User lives in Rome.", reinforce=True)
    worker.tell(turn)
    worker.tell(semantic_pb2.MemoriesUsed(user_id="ada", memory_ids=[id_of(worker, "Rome")]))
    assert items(worker) == before
    page = worker.answered(semantic_pb2.InvalidateMemory(user_id="ada", memory_id=small_talk))
    assert page.records[0].status == "invalid"
    assert values(worker, ADA) == [("Rome", "active")]

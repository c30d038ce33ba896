"""Memories that a person holds fast: pinned they stay, immutable nothing changes them but a person who lifts the anchor."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aico_memory.contracts.v1 import semantic_pb2, write_path_pb2
from aico_memory.domain.memory import Scope
from aico_memory.errors import AccessDenied, ImmutableItem, NotFound, RefusedTransition
from tests.services.semantic.statements import ADA, items, set_policy
from tests.services.semantic.worker import Worker


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    made = Worker(tmp_path / "home")
    yield made
    made.handlers.close()


def the_item(worker: Worker, value: str, scope: Scope = ADA) -> Any:
    return next(one.memory for one in items(worker, scope) if one.value == value)


def id_of(memory: Any) -> str:
    return str(uuid.UUID(bytes=memory.memory_id))


def anchor(worker: Worker, memory: Any, user: str = "ada", **fields: Any) -> semantic_pb2.MemoryRecord:
    command = semantic_pb2.AnchorMemory(user_id=user, memory_id=id_of(memory), **fields)
    page: semantic_pb2.MemoryPage = worker.answered(command, user)
    return page.records[0]


def test_what_contradicts_an_immutable_item_waits_for_review_until_the_anchor_is_lifted(worker: Worker) -> None:
    worker.say("I live in Rome")
    rome = the_item(worker, "Rome")
    held = anchor(worker, rome, immutable=True)
    assert (held.pinned, held.immutable) == (False, True)
    worker.say("I moved to Oslo")
    assert {one.value: one.memory.status for one in items(worker)} == {"Rome": "active", "Oslo": "candidate"}
    for command in (
        semantic_pb2.UpdateMemory(user_id="ada", memory_id=id_of(rome), text="User lives in Bern"),
        semantic_pb2.InvalidateMemory(user_id="ada", memory_id=id_of(rome)),
        write_path_pb2.ReviewDecision(user_id="ada", memory_id=id_of(the_item(worker, "Oslo")), decision="promote"),
    ):
        with pytest.raises(ImmutableItem, match="immutable") as refused:
            worker.answered(command)
        assert "anchor" in (refused.value.mend or "")
    assert not anchor(worker, rome, immutable=False).immutable
    worker.answered(write_path_pb2.ReviewDecision(user_id="ada", memory_id=id_of(the_item(worker, "Oslo")), decision="promote"))
    assert [one.value for one in items(worker, ADA, "active")] == ["Oslo"]


def test_what_is_pinned_is_not_demoted_to_make_room_and_its_history_says_who_pinned_it(worker: Worker) -> None:
    set_policy(worker, scope_items=2)
    worker.say("I like tea")
    tea = the_item(worker, "tea")
    assert anchor(worker, tea, pinned=True, reason="her own word").pinned
    for thing in ("jazz", "chess", "maps"):
        worker.say(f"I like {thing}")
    assert the_item(worker, "tea").tier == "episodic"
    assert the_item(worker, "jazz").tier == "dormant"
    history = worker.ask(semantic_pb2.MemoryHistoryRequest(user_id="ada", memory_id=id_of(tea)))
    assert [(one.what, one.new_value, one.reason) for one in history.changes if one.what == "pinned"] == [
        ("pinned", "True", "her own word")
    ]


def test_what_rests_wakes_when_it_is_pinned_and_asking_twice_changes_nothing(worker: Worker) -> None:
    set_policy(worker, scope_items=2)
    for thing in ("tea", "jazz", "chess", "maps"):
        worker.say(f"I like {thing}")
    tea = the_item(worker, "tea")
    assert tea.tier == "dormant"
    assert anchor(worker, tea, pinned=True).tier == "episodic"
    before = the_item(worker, "tea")
    assert anchor(worker, tea, pinned=True).pinned
    assert the_item(worker, "tea") == before


def test_only_whose_word_it_is_holds_a_memory_fast_and_only_what_still_holds(worker: Worker) -> None:
    worker.say("I live in Rome")
    rome = the_item(worker, "Rome")
    with pytest.raises(NotFound):
        anchor(worker, rome, "bob", pinned=True)
    worker.say("The release is on 3 May.", project_id="apollo")
    project = Scope("project", "apollo")
    release = items(worker, project)[0].memory
    shared = semantic_pb2.AnchorMemory(user_id="bob", memory_id=id_of(release), pinned=True)
    shared.scopes.add(kind=3, id="apollo")
    with pytest.raises(AccessDenied):
        worker.answered(shared, "bob")
    worker.say("I moved to Oslo")
    with pytest.raises(RefusedTransition, match="superseded"):
        anchor(worker, rome, pinned=True)


def test_a_pinned_message_is_a_record_like_any_other(worker: Worker) -> None:
    memory_id = worker.say("The spare key is under the third pot")
    page = worker.answered(semantic_pb2.AnchorMemory(user_id="ada", memory_id=memory_id, pinned=True, immutable=True))
    assert (page.records[0].kind, page.records[0].pinned) == ("record", True)
    worker.settle()
    assert worker.found("spare key")["text"] == ["The spare key is under the third pot"]
    with pytest.raises(ImmutableItem):
        worker.answered(semantic_pb2.UpdateMemory(user_id="ada", memory_id=memory_id, text="It is elsewhere"))

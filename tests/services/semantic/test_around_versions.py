"""What is told around a former version of a memory."""

from __future__ import annotations

from typing import Any

import pytest

from aico_memory.contracts.v1 import context_pb2, semantic_pb2
from tests.services.semantic.worker import Worker


@pytest.fixture
def worker(tmp_path: Any) -> Any:
    made = Worker(tmp_path / "home")
    yield made
    made.handlers.close()


def test_a_former_version_has_the_sources_of_before_the_edit_and_is_not_its_own_neighbour(worker: Worker) -> None:
    worker.say("The tea is at four", said_at_us=1_000)
    edited = worker.say("The locker code is 4711", said_at_us=2_000)
    worker.say("The rain is over", said_at_us=3_000)
    worker.answered(semantic_pb2.UpdateMemory(user_id="ada", memory_id=edited, text="The locker code is 4712"))
    filters = semantic_pb2.SearchFilters(statuses=["superseded"], kinds=["record"])
    page = worker.ask(semantic_pb2.ListMemories(user_id="ada", filters=filters))
    (former,) = (one.memory_id for one in page.records)
    found = worker.ask(context_pb2.AroundRequest(user_id="ada", memory_ids=[edited, former], neighbours=1)).found
    told = {one.record.memory_id: one for one in found}
    (record,) = worker.ask(semantic_pb2.GetMemory(user_id="ada", memory_ids=[former])).records
    assert told[former].record.text == "The locker code is 4711"
    assert list(told[former].record.sources) == list(record.sources)
    assert len(record.sources) == 1
    for one in told.values():
        beside = [neighbour.text for neighbour in (*one.before, *one.after)]
        assert beside == ["The tea is at four", "The rain is over"]

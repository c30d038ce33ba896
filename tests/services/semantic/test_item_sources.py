"""What an item tells of the messages it rests on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from aico_memory.contracts.v1 import semantic_pb2
from aico_memory.domain.memory import Scope
from tests.services.semantic.statements import message
from tests.services.semantic.worker import Worker

ADA = Scope("user", "ada")


@pytest.fixture
def worker(tmp_path: Any) -> Any:
    made = Worker(tmp_path / "home")
    yield made
    made.handlers.close()


def test_an_items_source_has_the_metadata_of_its_message(worker: Worker) -> None:
    metadata = json.dumps({"turn": 7, "tags": ["home"]})
    worker.tell(message("I live in Rome", name="Ada", metadata_json=metadata))
    (item,) = worker.handlers.state.items([ADA], (), b"", 9)
    page = worker.ask(semantic_pb2.GetMemory(user_id="ada", memory_ids=[str(item.memory.memory_id.hex())]))
    (source,) = page.records[0].sources
    assert (source.name, json.loads(source.metadata_json)) == ("Ada", {"turn": 7, "tags": ["home"]})

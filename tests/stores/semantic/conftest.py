"""The encrypted store of L1 and its twin, for one suite."""

import pytest

from aico_memory.stores.semantic.sql_queue import SqlIndexQueue
from aico_memory.stores.semantic.sql_store import SqlSemanticStore
from aico_memory.stores.semantic.twin import MemorySemanticStore
from tests.stores.semantic.memories import OnDisk


@pytest.fixture
def on_disk(tmp_path):
    place = OnDisk(tmp_path / "home")
    yield place
    place.store.close()


@pytest.fixture(params=["sql", "twin"])
def store(request):
    return request.getfixturevalue("on_disk").store if request.param == "sql" else MemorySemanticStore()


@pytest.fixture
def queue(store):
    return SqlIndexQueue(store) if isinstance(store, SqlSemanticStore) else store

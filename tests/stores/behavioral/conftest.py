"""The behavioral store on disk and its in-memory twin, for one suite."""

import pytest

from aico_memory.stores.behavioral.sql_store import SqlBehavioralStore
from aico_memory.stores.behavioral.twin import MemoryBehavioralStore
from tests.stores.behavioral.rows import KEY


@pytest.fixture(params=["memory", "sql"])
def store(request, tmp_path):
    opened = MemoryBehavioralStore() if request.param == "memory" else SqlBehavioralStore.open(tmp_path, KEY)
    yield opened
    opened.close()

"""What tests of the semantic worker share: the worker, and the store of knowledge in both its forms."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aico_memory.stores.semantic.twin import MemorySemanticStore
from tests.services.semantic.worker import Worker
from tests.stores.semantic.memories import OnDisk


@pytest.fixture(params=["sql", "twin"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param == "twin":
        yield MemorySemanticStore()
        return
    place = OnDisk(tmp_path / "home")
    yield place.store
    place.store.close()


@pytest.fixture
def worker(tmp_path):
    made = Worker(tmp_path / "home")
    yield made
    made.handlers.close()

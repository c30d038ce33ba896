"""An extractor on a language model that answers well."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from aico_memory.clock import FixedClock
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.paths import find_home
from tests.models.llm.extracting import GOOD, NOON, World
from tests.support.chat_server import chat_server, completion, facts, say


@pytest.fixture(scope="session")
def tables() -> FormationTables:
    return load_formation_tables(find_home())


@pytest.fixture
def world(tmp_path: Path, tables: FormationTables) -> Iterator[World]:
    with chat_server(lambda body, handler: say(handler, completion(facts(GOOD)))) as server:
        yield World(server, tmp_path, tables, FixedClock(NOON), threading.Event())

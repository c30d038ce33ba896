from __future__ import annotations

import pytest

from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.paths import find_home


@pytest.fixture(scope="session")
def tables() -> FormationTables:
    return load_formation_tables(find_home())

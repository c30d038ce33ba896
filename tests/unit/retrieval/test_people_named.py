from __future__ import annotations

import pytest

from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.retrieval.participants import people_named
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.paths import find_home


@pytest.fixture(scope="module")
def tables() -> FormationTables:
    return load_formation_tables(find_home())


@pytest.mark.parametrize(
    ("language", "question", "people"),
    [
        ("en", "Where does Carl live?", {"carl"}),
        ("en", "What is Nadia's job?", {"nadia"}),
        ("en", "Hey Carl, where do I live?", set()),
        ("en", "Where is my office in Leeds?", set()),
        ("de", "Welche Allergien hat Carl?", {"carl"}),
        ("de", "Welche Allergien hat Nadia?", set()),
        ("de", "Bei welcher Firma arbeite ich, Carl?", set()),
        ("tr", "Bugün Carl nerede?", {"carl"}),
    ],
)
def test_whom_a_question_asks_about(tables: FormationTables, language: str, question: str, people: set[str]) -> None:
    assert people_named(question, tables.grammars[language], {"carl", "bea"}) == people

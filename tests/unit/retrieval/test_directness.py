"""What of a question a fact leaves unanswered."""

from __future__ import annotations

import pytest

from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.recall.question import understand
from aico_memory.domain.recall.timeline import Held, Statement
from aico_memory.domain.retrieval.directness import left_over
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.models.language_tables import load_function_words
from aico_memory.paths import find_home

NOW = 1_760_000_000_000_000


@pytest.fixture(scope="module")
def tables() -> FormationTables:
    return load_formation_tables(find_home())


@pytest.fixture(scope="module")
def ignored() -> frozenset[str]:
    return frozenset().union(*load_function_words(find_home()).function_words.values())


def left(tables: FormationTables, ignored: frozenset[str], question: str, language: str, predicate: str, text: str) -> set[str]:
    fact = FormedFact(
        text=text, kind="profile", subject="user", predicate=predicate, value="x", object_key="x", single_valued=True,
        language=language,
    )  # fmt: skip
    asked = understand(question, tables.grammars[language], tables, NOW, "UTC")
    held = Held(Statement(b"1", fact, 0), "user", predicate, 0, 1)
    return set(left_over(asked, held, tables, {"ben"}, ignored))


@pytest.mark.parametrize(
    ("question", "language", "predicate", "text"),
    [
        ("Where do I live?", "en", "home_city", "User moved to Oslo"),
        ("where does ben live", "en", "home_city", "User moved to Oslo"),
        ("Do you remember which city I live in now?", "en", "home_city", "User moved to Oslo"),
        ("Where did I live in March 2026?", "en", "home_city", "User lives in Rome"),
        ("Which company do I work for these days?", "en", "employer", "User works at Globex"),
        ("In welcher Stadt wohne ich gerade?", "de", "home_city", "Ich bin nach Wien umgezogen"),
        ("Weißt du noch, wo ich wohne?", "de", "home_city", "Ich bin nach Wien umgezogen"),
        ("Şu anda hangi şehirde yaşıyorum?", "tr", "home_city", "Ankara'ya taşındım"),
        ("What is my locker code?", "en", "attribute:locker code", "User's locker code is 12"),
    ],
)
def test_a_question_for_the_predicate_leaves_nothing_over(
    tables: FormationTables, ignored: frozenset[str], question: str, language: str, predicate: str, text: str
) -> None:
    assert left(tables, ignored, question, language, predicate, text) == set()


@pytest.mark.parametrize(
    ("question", "predicate", "text", "expected"),
    [
        ("What does she do to destress?", "role", "User is a nurse", {"destress"}),
        ("Where is the fashion internship?", "location", "User is in Rome", {"fashion", "internship"}),
        ("What did I plan to do at the grand opening?", "role", "User is a nurse", {"grand", "opening", "plan"}),
    ],
)
def test_what_the_fact_does_not_speak_of_is_left_over(
    tables: FormationTables, ignored: frozenset[str], question: str, predicate: str, text: str, expected: set[str]
) -> None:
    assert left(tables, ignored, question, "en", predicate, text) >= expected

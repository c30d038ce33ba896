"""Questions that name a time, or ask for the time of what they name; with a twin of store and model."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.paths import find_home
from tests.services.semantic.told_and_asked import DAY, START, Memory


@pytest.fixture(scope="module")
def tables() -> FormationTables:
    return load_formation_tables(find_home())


@pytest.fixture
def memory(tables: FormationTables) -> Memory:
    return Memory(tables)


@pytest.mark.parametrize(
    ("said", "now", "ahead", "values"),
    [
        (
            ("I live in Rome.", "I move to Lisbon on 1 December 2028."), "Where do I live?",
            ("Where will I live on 5 December 2028?", "Where do I live in 2029?", "Where will I live in December?",
             "Where will I live in three weeks?"),
            ("Rome", "Lisbon"),
        ),
        (
            ("Ich wohne in Ulm.", "Am 1. Dezember 2028 ziehe ich nach Hof."), "Wo wohne ich?",
            ("Wo wohne ich am 5. Dezember 2028?", "Wo werde ich im Dezember wohnen?", "Wo wohne ich 2029?"),
            ("Ulm", "Hof"),
        ),
        (
            ("Bursa'da yaşıyorum.", "1 Aralık 2028'de Bolu'ya taşınıyorum."), "Nerede yaşıyorum?",
            ("5 Aralık 2028'de nerede yaşayacağım?", "Aralıkta nerede yaşayacağım?"),
            ("Bursa", "Bolu"),
        ),
    ],
)  # fmt: skip
def test_a_time_ahead_that_the_question_names_is_the_one_that_is_asked_about(
    memory: Memory, said: Sequence[str], now: str, ahead: Sequence[str], values: Sequence[str]
) -> None:
    for place, text in enumerate(said):
        memory.say(text, 998.0 + place)
    assert memory.values(now) == [values[0]]
    assert [memory.values(one) for one in ahead] == [[values[1]]] * len(ahead)
    assert memory.values(ahead[0], as_of_us=START + 999 * DAY) == [values[0]], "the request names the time itself"


@pytest.mark.parametrize(
    ("said", "questions", "value"),
    [
        (("I live in Rome.", "I live in Oslo now."), ("When did I live in Rome?",), "Rome"),
        (("Ich wohne in Rom.", "Ich wohne jetzt in Oslo."), ("Wann habe ich in Rom gewohnt?",), "Rom"),
        (("I live in Rome.", "I move to Oslo on 1 March 2029."), ("When will I live in Oslo?",), "Oslo"),
    ],
)
def test_when_something_held_is_answered_with_that_and_not_with_what_holds_now(
    memory: Memory, said: Sequence[str], questions: Sequence[str], value: str
) -> None:
    for place, text in enumerate(said):
        memory.say(text, 200.0 * place)
    assert [memory.values(one) for one in questions] == [[value]] * len(questions)
    assert memory.values(questions[0], as_of_us=START - DAY) == []


def test_what_is_over_by_the_time_ahead_that_is_named_answers_nothing(memory: Memory) -> None:
    memory.say("Until 1 December 2028 I work at Bosch.", 999)
    assert memory.values("Where do I work?") == ["Bosch"]
    assert memory.values("Where will I work in January 2029?") == []

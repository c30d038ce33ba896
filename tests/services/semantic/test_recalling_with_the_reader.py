"""Questions that the rules do not answer, read from what was said by the learned reader."""

from __future__ import annotations

import pytest

from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.models.span_reader import load_span_reader
from aico_memory.paths import find_home
from tests.services.semantic.told_and_asked import DAY, START, Memory


@pytest.fixture(scope="module")
def tables() -> FormationTables:
    return load_formation_tables(find_home())


def test_what_no_rule_reads_is_read_by_the_reader(tables: FormationTables) -> None:
    reading = Memory(tables, reader=load_span_reader(find_home()))
    memory = Memory(tables)
    for one in (memory, reading):
        one.say("Den Ersatzschlüssel hab ich bei Frau Lorenz hinterlegt.", 0)
        one.say("Das Wetter war heute herrlich.", 3)
    question = "Bei wem liegt der Ersatzschlüssel?"
    assert memory.values(question) == []
    found = reading.ask(question).results
    assert [one.value for one in found] == ["Frau Lorenz"]
    assert found[0].memory == "Den Ersatzschlüssel hab ich bei Frau Lorenz hinterlegt."
    assert 0 < found[0].confidence < 1
    assert found[0].evidence
    assert reading.values(question, as_of_us=START - DAY) == []
    assert reading.values(question, known_as_of_us=START - DAY) == []
    assert reading.values(question, user="bert") == []


def test_without_the_model_the_rules_answer_and_it_is_named(tables: FormationTables) -> None:
    reading = Memory(tables, reader=load_span_reader(find_home()))
    reading.model_away = True
    reading.say("I live in Leeds.", 0)
    answer = reading.ask("Where do I live?")
    assert list(answer.degraded) == ["model: model_unavailable"]
    assert [one.value for one in answer.results] == ["Leeds"]


def test_words_of_others_and_of_what_waits_for_review_are_not_read(tables: FormationTables) -> None:
    reading = Memory(tables, reader=load_span_reader(find_home()))
    reading.say("Den Ersatzschlüssel hab ich bei Frau Lorenz hinterlegt.", 0, user="bert", group="chor")
    question = "Bei wem liegt der Ersatzschlüssel?"
    assert reading.values(question, group_id="chor") == []
    assert reading.values(question, user="bert", group_id="chor") == ["Frau Lorenz"]

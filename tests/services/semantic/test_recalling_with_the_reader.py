"""Questions that the rules do not answer, read from what was said by the learned reader."""

from __future__ import annotations

import pytest

from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.models.reader_weights import load_reader
from aico_memory.paths import find_home
from tests.services.semantic.told_and_asked import DAY, START, Memory


@pytest.fixture(scope="module")
def tables() -> FormationTables:
    return load_formation_tables(find_home())


def test_what_no_rule_reads_is_read_by_the_reader(tables: FormationTables) -> None:
    reading = Memory(tables, reader=load_reader(find_home()))
    memory = Memory(tables)
    for one in (memory, reading):
        one.say("Das Fahrrad hab ich bei der Werkstatt Lorenz abgegeben.", 0)
        one.say("Das Wetter war heute herrlich.", 3)
    question = "Zu welcher Werkstatt habe ich das Fahrrad gebracht?"
    assert memory.values(question) == []
    found = reading.ask(question).results
    assert [one.value for one in found] == ["Lorenz"]
    assert found[0].memory == "Das Fahrrad hab ich bei der Werkstatt Lorenz abgegeben."
    assert 0 < found[0].confidence < 1
    assert found[0].evidence
    assert reading.values(question, as_of_us=START - DAY) == []
    assert reading.values(question, known_as_of_us=START - DAY) == []
    assert reading.values(question, user="bert") == []


def test_without_the_model_the_reader_leaves_its_languages_to_the_rules(tables: FormationTables) -> None:
    reading = Memory(tables, reader=load_reader(find_home()))
    reading.model_away = True
    reading.say("The bike is at the workshop of Mr Harlow.", 0)
    answer = reading.ask("Which workshop is the bike at?")
    assert answer.degraded
    assert [one.value for one in answer.results] == Memory.values(_alone(tables), "Which workshop is the bike at?")


def _alone(tables: FormationTables) -> Memory:
    memory = Memory(tables)
    memory.say("The bike is at the workshop of Mr Harlow.", 0)
    return memory

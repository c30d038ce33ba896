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


@pytest.mark.parametrize(
    ("said", "corrected", "question", "value"),
    [
        ("My rent is 900 euros.", "Correction: my rent is 950 euros, not 900 euros.", "What is my rent?", "950 euros"),
        ("I live in Rome.", "Correction: I live in Milan, not in Rome.", "Where do I live?", "Milan"),
    ],
)
def test_what_was_corrected_is_read_of_no_time_before_the_correction(
    tables: FormationTables, said: str, corrected: str, question: str, value: str
) -> None:
    reading = Memory(tables, reader=load_span_reader(find_home()))
    reading.say(said, 0)
    before = reading.values(question)
    reading.say(corrected, 1)
    at_us = START + DAY // 2
    assert reading.values(question, as_of_us=at_us) == reading.values(question) == [value]
    assert reading.values(question, as_of_us=at_us, known_as_of_us=at_us) == before != [value]


def test_that_one_was_never_elsewhere_leaves_where_one_is(tables: FormationTables) -> None:
    reading = Memory(tables, reader=load_span_reader(find_home()))
    for day, text in enumerate(("I live in Rome.", "I no longer live in Oslo.", "It was never true that I lived in Bonn.")):
        reading.say(text, 3 * day)
    assert reading.values("Where do I live?") == ["Rome"]


@pytest.mark.parametrize(
    ("said", "question", "value"),
    [
        ("My landlord is Mr Weber from February to April.", "Who is my landlord?", "Mr Weber"),
        ("The wifi password is Apple7 from February to April.", "What is the wifi password?", "Apple7"),
        ("Mein Vermieter ist von Februar bis April Herr Weber.", "Wer ist mein Vermieter?", "Herr Weber"),
    ],
)
def test_what_is_told_with_its_bounds_is_read_of_no_other_time(
    tables: FormationTables, said: str, question: str, value: str
) -> None:
    reading = Memory(tables, reader=load_span_reader(find_home()))
    # START is in February 2026.
    reading.say(said, -40)
    for day, values in ((-38, []), (10, [value]), (110, [])):
        found = reading.ask(question, as_of_us=START + day * DAY).results
        assert [one.value for one in found] == values
    assert START - 38 * DAY < found_bounds(reading, question)[0] < found_bounds(reading, question)[1] < START + 110 * DAY


def found_bounds(reading: Memory, question: str) -> tuple[int, int]:
    (found,) = reading.ask(question, as_of_us=START + 10 * DAY).results
    return found.valid_from_us, found.valid_until_us

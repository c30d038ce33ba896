"""What a value may stand in the place of: times, amounts, codes, names and things each replace their like."""

from __future__ import annotations

import pytest

from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.formation.naming import object_key
from aico_memory.domain.formation.same_amount import same_amount
from aico_memory.domain.formation.same_kind import LIKELY, NOT, SURELY, Heard, opens_with, replaces
from aico_memory.domain.formation.same_time import is_time, same_time

BEHIND = Heard(sure=False, opens=False)


def fit(
    tables: FormationTables, language: str, predicate: str, old: str, new: str, heard: Heard = BEHIND, act: str = "assert"
) -> int:
    grammar = tables.grammars[language]
    fact = FormedFact("", "fact", "user", predicate, old, object_key(old, grammar), True, act=act)
    return replaces(fact, new, heard, tables, grammar)


@pytest.mark.parametrize(
    ("language", "predicate", "old", "new", "fits"),
    [
        ("en", "home_city", "Rome", "Milan", LIKELY),
        ("en", "home_city", "Rome", "thanks", NOT),
        ("en", "home_city", "Rome", "Rome", NOT),
        ("en", "home_city", "Rome", "Python", NOT),
        ("en", "home_city", "Rome", "LOL", NOT),
        ("en", "time", "Tuesday", "Thursday", SURELY),
        ("en", "time", "Tuesday", "4 pm", NOT),
        ("en", "time", "3 pm", "half past four", SURELY),
        ("en", "time", "3 pm", "Friday night party", NOT),
        ("en", "attribute:rent", "900 euros", "950 euros", SURELY),
        ("en", "attribute:rent", "900 euros", "10 minutes", NOT),
        ("en", "age", "6", "7 years", SURELY),
        ("en", "age", "6", "5 minutes", NOT),
        ("en", "phone_number", "555 1234", "555 1243", SURELY),
        ("en", "attribute:wifi password", "tulip7", "tulip9", SURELY),
        ("en", "attribute:wifi password", "tulip7", "10 minutes", NOT),
        ("en", "role", "nurse", "plumber", SURELY),
        ("en", "role", "nurse", "silly", NOT),
        ("en", "drinks", "coffee", "lemonade", SURELY),
        ("en", "drinks", "coffee", "blue", NOT),
        ("en", "hurt", "left knee", "right knee", LIKELY),
        ("en", "attribute:sister", "Ana", "April", LIKELY),
        ("de", "home_city", "Rom", "Mailand", LIKELY),
        ("de", "home_city", "Rom", "Feierabend", NOT),
        ("de", "attribute:chef", "Herr Müller", "Herr Möller", SURELY),
        ("de", "favourite:farbe", "Blau", "Dunkelgrün", SURELY),
        ("tr", "home_city", "Roma", "Milano", LIKELY),
        ("tr", "favourite:içecek", "kahve", "limonata", SURELY),
        ("tr", "favourite:içecek", "kahve", "yandı", NOT),
        ("tr", "time", "salı günü", "perşembe", SURELY),
    ],
)
def test_a_value_replaces_its_like(
    tables: FormationTables, language: str, predicate: str, old: str, new: str, fits: int
) -> None:
    assert fit(tables, language, predicate, old, new) == fits


def test_a_capital_that_opens_a_sentence_makes_no_name(tables: FormationTables) -> None:
    opening = Heard(sure=False, opens=True)
    assert fit(tables, "en", "home_city", "Rome", "Milan", opening) == LIKELY
    assert fit(tables, "en", "home_city", "Rome", "Swim", opening) == NOT
    assert fit(tables, "en", "home_city", "Rome", "Swim", BEHIND) == LIKELY


def test_small_letters_name_only_behind_words_that_announce_a_value(tables: FormationTables) -> None:
    assert fit(tables, "en", "home_city", "Rome", "milan") == NOT
    assert fit(tables, "en", "home_city", "Rome", "milan", Heard(sure=True, opens=False)) == LIKELY


def test_what_is_over_is_not_replaced(tables: FormationTables) -> None:
    assert fit(tables, "en", "home_city", "Rome", "Milan", act="end") == NOT


@pytest.mark.parametrize(
    ("value", "sentence", "opens"),
    [("Milan", "Milan*", True), ("Milan", "Edit: Milan", True), ("Milan", "Sorry, Milan", False), ("x", "y", True)],
)
def test_where_a_sentence_begins(value: str, sentence: str, opens: bool) -> None:
    assert opens_with(value, sentence) is opens


@pytest.mark.parametrize(
    ("language", "value", "time"),
    [
        ("en", "Monday", True),
        ("en", "Monday works", False),
        ("en", "the 21st", True),
        ("en", "half", False),
        ("de", "heute Abend um 8", True),
        ("de", "halb acht", True),
        ("de", "Mailand", False),
        ("tr", "14 Mayıs'ta", True),
    ],
)
def test_nothing_but_words_of_time(tables: FormationTables, language: str, value: str, time: bool) -> None:
    assert is_time(value, tables.grammars[language]) is time


def test_a_number_alone_is_a_time_beside_one(tables: FormationTables) -> None:
    grammar = tables.grammars["en"]
    assert same_time("3 pm", "4", grammar)
    assert not same_time("Tuesday", "4", grammar)


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("900 euros", "950", True),
        ("1,200 dollars", "$1,350", True),
        ("900 euros", "5", False),
        ("900 euros", "950 kg", False),
        ("2 cats", "3 cats", True),
        ("2 cats", "3 hours", False),
        ("82 kg", "83kg", True),
    ],
)
def test_amounts_of_one_thing(tables: FormationTables, old: str, new: str, same: bool) -> None:
    assert same_amount(old, new, False, False, tables.grammars["en"]) is same


def test_what_announces_a_value_may_be_much_more(tables: FormationTables) -> None:
    grammar = tables.grammars["en"]
    assert not same_amount("90 euros", "9000 euros", False, False, grammar)
    assert same_amount("90 euros", "9000 euros", True, False, grammar)

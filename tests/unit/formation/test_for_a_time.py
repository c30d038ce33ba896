"""What holds for a time: seasons, what comes after an end, what is borrowed until then, who comes in whose place."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from aico_memory.domain.formation.form import form
from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.formation.when import find_times, to_us
from aico_memory.domain.memory import OPEN
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.paths import find_home

TABLES = load_formation_tables(find_home())
SAID = to_us(datetime(2026, 5, 28, 10, tzinfo=UTC))


def _facts(text: str, language: str, recent: tuple[str, ...] = ()) -> tuple[FormedFact, ...]:
    return form(
        text, role="user", speaker="", said_at_us=SAID, zone="UTC", recent=recent, tables=TABLES, language=language
    ).facts


def _at(month: int, day: int = 1, year: int = 2026) -> int:
    return to_us(datetime(year, month, day, tzinfo=UTC))


@pytest.mark.parametrize(
    ("language", "text", "past", "begins", "ends"),
    [
        ("en", "for the summer i am working at the pool", False, _at(6), _at(9)),
        ("en", "this winter i am coaching", False, _at(12), _at(3, year=2027)),
        ("en", "over the winter i worked in a bar", True, _at(12, year=2025), _at(3)),
        ("en", "last summer i worked in a bar", True, _at(6, year=2025), _at(9, year=2025)),
        ("en", "next spring i am moving", False, _at(3, year=2027), _at(6, year=2027)),
        ("de", "den sommer über jobbe ich im freibad", False, _at(6), _at(9)),
        ("de", "diesen herbst arbeite ich im weinberg", False, _at(9), _at(12)),
        ("de", "letzten winter war ich in tirol", True, _at(12, year=2025), _at(3)),
    ],
)
def test_a_season_is_an_interval(language: str, text: str, past: bool, begins: int, ends: int) -> None:
    (phrase,) = find_times(text, TABLES.grammars[language].calendar, language, SAID, "UTC")
    assert phrase.bounds(past) == (begins, ends)


@pytest.mark.parametrize(("language", "text"), [("en", "our summer house leaks"), ("de", "das sommerhaus ist undicht")])
def test_a_season_in_a_name_is_no_date(language: str, text: str) -> None:
    assert find_times(text, TABLES.grammars[language].calendar, language, SAID, "UTC") == []


@pytest.mark.parametrize(
    ("language", "text", "values", "ends"),
    [
        ("en", "My desk is in room 12 until the end of June, after that it's in room 40.", ("room 12", "room 40"), _at(7)),
        ("de", "Mein Büro ist bis Ende Juni in Raum 214, danach in Raum 105.", ("Raum 214", "Raum 105"), _at(7)),
    ],
)
def test_what_comes_after_begins_where_the_first_ends(language: str, text: str, values: tuple[str, str], ends: int) -> None:
    first, second = _facts(text, language)
    assert (first.value, second.value) == values
    assert (first.subject, first.predicate) == (second.subject, second.predicate)
    assert (first.valid_until_us, second.valid_from_us, second.valid_until_us) == (ends, ends, OPEN)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "I'm staying at the Crown Hotel until Friday, after that I go swimming."),
        ("en", "I'm staying at the Crown Hotel until Friday, then home."),
        ("de", "Bis Freitag bin ich in Wien, danach gehe ich schwimmen."),
    ],
)
def test_a_deed_or_home_is_no_value_of_what_comes_after(language: str, text: str) -> None:
    ended = {fact.valid_until_us for fact in _facts(text, language) if fact.valid_until_us != OPEN}
    assert not [fact for fact in _facts(text, language) if fact.valid_from_us in ended]


def test_what_is_borrowed_until_then_is_held_until_then() -> None:
    (fact,) = _facts("I've borrowed my aunt's Volvo until the end of June.", "en")
    assert (fact.value, fact.valid_from_us, fact.valid_until_us) == ("aunt's Volvo", SAID, _at(7))


@pytest.mark.parametrize(
    ("language", "text", "noun", "gone", "comes"),
    [
        ("en", "Orla has moved out, and Petra lives with us instead.", "roommate", "Orla", "Petra"),
        ("de", "Fritz ist ausgezogen, dafür wohnt jetzt Nele bei uns.", "mitbewohner", "Fritz", "Nele"),
    ],
)
def test_who_moves_out_makes_way(language: str, text: str, noun: str, gone: str, comes: str) -> None:
    facts = {(fact.act, fact.value) for fact in _facts(text, language) if fact.predicate == f"attribute:{noun}"}
    assert facts == {("end", gone), ("assert", comes)}


@pytest.mark.parametrize(
    ("language", "earlier", "text"),
    [
        ("en", "My favourite dish is risotto.", "Fish tacos in the canteen. Fine, not great."),
        ("en", "My landlord is called Mr Pike.", "Tried the new pizza place. Cheap, not cheerful."),
        ("en", "My car is a Mini.", "The ads were driving me mad, so I drove out to the coast."),
    ],
)
def test_small_talk_is_no_value_of_what_was_told(language: str, earlier: str, text: str) -> None:
    told = {fact.predicate for fact in _facts(earlier, language)}
    assert not told & {fact.predicate for fact in _facts(text, language, (earlier,))}


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        ("en", ("The doctor has put me on 25 mg of sertraline a day.", "My sertraline dose is 50 mg now.",
                "My daily dose of sertraline is 40 mg.", "They've cut my sertraline to 20 mg a day.")),
        ("de", ("Ich nehme seit heute 5 mg Ramipril am Tag.", "Meine Dosis Ramipril ist jetzt 10 mg.",
                "Die Ärztin hat mir 2 mg Ramipril am Tag verschrieben.", "Meine Ramipril-Dosis beträgt 5 mg.")),
    ],
)  # fmt: skip
def test_a_dose_is_one_thing_however_it_is_told(language: str, texts: tuple[str, ...]) -> None:
    keys = {(fact.subject, fact.predicate) for text in texts for fact in _facts(text, language) if " mg" in fact.value}
    assert len(keys) == 1


def test_what_somebody_else_takes_is_theirs() -> None:
    facts = _facts("Mein Vater nimmt 20 mg von so einem Cholesterinmittel.", "de")
    assert {fact.subject for fact in facts} == {"vater"}


@pytest.mark.parametrize(
    ("language", "text", "predicate", "value"),
    [
        ("en", "I'm borrowing my brother's Passat while mine is in the shop.", "borrowed", "brother's Passat"),
        ("de", "Ich habe mir bis Ende Februar den Golf meiner Tante geliehen.", "borrowed", "Golf meiner Tante"),
        ("en", "My own bike is a Trek.", "attribute:bike", "Trek"),
        ("de", "Mein eigenes Auto ist ein Twingo, der steht in der Werkstatt.", "car", "Twingo"),
    ],
)
def test_what_is_borrowed_is_not_owned(language: str, text: str, predicate: str, value: str) -> None:
    assert [(fact.predicate, fact.value) for fact in _facts(text, language)] == [(predicate, value)]


def test_what_one_likes_to_read_is_each_of_it_and_what_a_pronoun_stands_for() -> None:
    told = _facts("I like reading crime novels and travel books.", "en")
    more = _facts("I've discovered graphic novels at the library, I like those as well.", "en")
    liked = [fact.value for fact in (*told, *more) if fact.predicate == "likes"]
    assert liked == ["crime novels", "travel books", "graphic novels"]


@pytest.mark.parametrize(
    ("language", "text", "ends"),
    [
        ("en", "I'm staying in Lisbon until 2026.", _at(1, year=2027)),
        ("en", "I live in Lisbon until May.", _at(6)),
        ("en", "I live in Lisbon until June.", _at(6)),
        ("en", "I'm staying in Lisbon until 2027.", _at(1, year=2027)),
        ("de", "Ich wohne bis Mai in Lisbon.", _at(6)),
        ("tr", "Mayısa kadar Lisbon'da kalıyorum.", _at(6)),
        ("tr", "2026'ya kadar Lisbon'da kalıyorum.", _at(1, year=2027)),
    ],
)
def test_a_month_or_year_that_runs_lasts_to_its_end(language: str, text: str, ends: int) -> None:
    (fact,) = _facts(text, language)
    assert (fact.value, fact.valid_from_us, fact.valid_until_us) == ("Lisbon", SAID, ends)


def test_what_was_so_until_a_month_that_runs_ended_when_it_began() -> None:
    (fact,) = _facts("I lived in Lisbon until May.", "en")
    assert fact.valid_until_us == _at(5)

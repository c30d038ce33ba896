"""Chatty wordings: each class of them with a made-up case in every language that has it."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.formation.form import form
from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.formation.plainer import plainer
from aico_memory.domain.formation.weight import INFERRED, STATED, WEAK
from aico_memory.domain.formation.wording import own_words
from aico_memory.errors import ConfigurationInvalid
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.paths import Home, shipped_config

SAID = int(datetime(2026, 3, 4, 12, tzinfo=UTC).timestamp() * 1_000_000)


def facts(tables: FormationTables, text: str, recent: tuple[str, ...] = (), language: str = "") -> list[FormedFact]:
    formed = form(text, role="user", speaker="", said_at_us=SAID, zone="UTC", recent=recent, tables=tables, language=language)
    return list(formed.facts)


@pytest.mark.parametrize(
    ("text", "noun", "value"),
    [
        ("New gate code: 5512.", "attribute:gate code", "5512"),
        ("I changed the alarm code, it's 9911 now.", "attribute:alarm code", "9911"),
        ("Our tutor group has changed, we're in Newton from now on.", "attribute:tutor group", "Newton"),
        ("The landlady put my deposit up to 700.", "attribute:deposit", "700"),
        ("I switched my insurance to Aviva.", "insurer", "Aviva"),
        ("Neuer Alarmcode: 9911.", "attribute:alarmcode", "9911"),
        ("Hab den Alarmcode geändert, er lautet jetzt 9911.", "attribute:alarmcode", "9911"),
        ("Wir haben einen neuen Probenraum, den Raum Mozart.", "attribute:probenraum", "Raum Mozart"),
        ("Meine Gebühr beträgt 80 Euro.", "attribute:gebühr", "80 Euro"),
        ("Alarm kodumu değiştirdim, artık 9911.", "attribute:alarm kod", "9911"),
    ],
)
def test_an_attribute_of_any_name_is_read_from_any_wording(tables: FormationTables, text: str, noun: str, value: str) -> None:
    (fact,) = facts(tables, text)
    assert (fact.subject, fact.predicate, fact.value, fact.single_valued) == ("user", noun, value, True)


@pytest.mark.parametrize(
    ("text", "value", "left"),
    [
        ("Cancelled FitPoint, I go to Ironworks now.", "Ironworks", "fitpoint"),
        ("Sold the Astra!! Picking up a Leaf tomorrow.", "Leaf", "astra"),
        ("I left Acme and I'm at Initech now.", "Initech", ""),
        ("FitPoint üyeliğimi iptal ettim, artık Salus'a gidiyorum.", "Salus", "fitpoint"),
    ],
)
def test_what_is_new_names_what_it_replaces(tables: FormationTables, text: str, value: str, left: str) -> None:
    new = [fact for fact in facts(tables, text) if fact.act == "assert"]
    assert [(fact.value, fact.corrected) for fact in new] == [(value, left)]


def test_an_end_that_says_what_it_was_lends_its_kind_to_nothing(tables: FormationTables) -> None:
    ended, *eaten = facts(tables, "I'm no longer vegan, I eat cheese again.")
    assert (ended.act, ended.predicate, ended.value) == ("end", "diet", "vegan")
    assert all(not fact.corrected for fact in eaten if fact.act == "assert")


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("That stuff about Maersk was a joke.", "maersk"),
        ("Das mit Monaco war gelogen.", "monaco"),
    ],
)
def test_a_retraction_names_what_was_never_true(tables: FormationTables, text: str, old: str) -> None:
    (fact,) = facts(tables, text)
    assert (fact.act, fact.predicate, fact.corrected) == ("retract", "", old)


def test_what_was_true_before_a_move_is_told_with_it(tables: FormationTables) -> None:
    before, after = facts(tables, "We relocated from Austin to Portland last month.")
    assert (before.value, before.valid_from_us, before.valid_until_us) == ("Austin", 0, after.valid_from_us)
    assert (after.value, after.predicate) == ("Portland", "home_city")


def test_a_span_of_dates_holds_between_them(tables: FormationTables) -> None:
    for text in (
        "I'll be in Seville from 10 March to 14 March.",
        "Vom 10. bis 14. März bin ich in Sevilla.",
    ):
        (fact,) = facts(tables, text)
        assert (fact.predicate, fact.temporal_type) == ("location", "time_bounded")
        assert fact.valid_from_us == int(datetime(2026, 3, 10, tzinfo=UTC).timestamp() * 1e6)
        assert fact.valid_until_us == int(datetime(2026, 3, 15, tzinfo=UTC).timestamp() * 1e6)


def test_times_of_different_days_are_different_objects(tables: FormationTables) -> None:
    (monday,) = facts(tables, "Das Wochenmeeting ist montags um 11 Uhr.")
    (wednesday,) = facts(tables, "Das Wochenmeeting ist mittwochs um 11 Uhr.")
    assert monday.object_key != wednesday.object_key


def test_a_pronoun_finds_whom_the_message_before_spoke_of(tables: FormationTables) -> None:
    (fact,) = facts(tables, "She moved to Cork last year.", recent=("My sister Ruth is a midwife.",))
    assert (fact.subject, fact.predicate, fact.value) == ("ruth", "home_city", "Cork")


def test_a_correction_may_say_more_beside_the_value(tables: FormationTables) -> None:
    (fact,) = facts(tables, "Nope, 21 September, I always mix those up.", recent=("Our anniversary is on 12 September.",))
    assert (fact.act, fact.subject, fact.value) == ("correct", "anniversary", "21 September")


@pytest.mark.parametrize(
    ("text", "base"),
    [
        ("I live in Leeds.", STATED),
        ("My gate code is 5512.", INFERRED),
        ("I have a question.", WEAK),
        ("The driver needs libfoo.", WEAK),
        ("Remember that the driver needs libfoo.", STATED),
    ],
)
def test_small_talk_weighs_less_than_what_is_stated(tables: FormationTables, text: str, base: float) -> None:
    assert {fact.confidence_base for fact in facts(tables, text, language="en")} <= {base}


def test_only_own_words_are_read() -> None:
    text = 'hi\n> I live in Rome\n```\ncode\n```\nI read "Dune" and "what a long sentence somebody else has written" today'
    assert own_words(text).split() == ["hi", "I", "read", '"Dune"', "and", "today"]


@given(st.text(max_size=200))
def test_no_text_breaks_the_reading(text: str) -> None:
    tables = _tables()
    for grammar in tables.grammars.values():
        assert isinstance(plainer(text, grammar), str)
    form(text, role="user", speaker="", said_at_us=SAID, zone="UTC", recent=(), tables=tables)


def _tables() -> FormationTables:
    if not _LOADED:
        _LOADED.append(load_formation_tables(Home(Path("/nonexistent"))))
    return _LOADED[0]


_LOADED: list[FormationTables] = []


def test_another_language_is_another_file(tmp_path: Path) -> None:
    """A language that nobody ships: its file alone makes statements readable, with its own words and wordings."""
    source = yaml.safe_load((shipped_config() / "language" / "en.yaml").read_text(encoding="utf-8"))
    predicates = yaml.safe_load((shipped_config() / "predicates.yaml").read_text(encoding="utf-8"))["predicates"]
    shouted = {
        **source, "name": "Shouted English",
        "facts": {**source["facts"], "rewrites": [["(?i)^dwell: ", "I live in "], *source["facts"]["rewrites"]]},
        "predicates": {name: entry["en"] for name, entry in predicates.items() if "en" in entry},
    }  # fmt: skip
    home = Home(tmp_path)
    (home.config / "language").mkdir(parents=True)
    (home.config / "language" / "xx.yaml").write_text(yaml.safe_dump(shouted, allow_unicode=True), encoding="utf-8")
    tables = load_formation_tables(home)
    (fact,) = facts(tables, "Dwell: Leeds", language="xx")
    assert (fact.predicate, fact.value, fact.language) == ("home_city", "Leeds", "xx")


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ({"predicates": {"home_town": {"say": ["bor i {v}"]}}}, "predicates.home_town"),
        ({"predicates": {"home_city": {"sagt": ["bor i {v}"]}}}, "predicates.home_city.sagt"),
        ({"facts": {"parser": "swedish", "words": {}, "marks": {}}}, "'swedish'; parsers are english, german, turkish"),
    ],
)
def test_what_is_wrong_in_the_file_of_a_language_is_named(tmp_path: Path, content: dict[str, object], wrong: str) -> None:
    home = Home(tmp_path)
    (home.config / "language").mkdir(parents=True)
    (home.config / "language" / "sv.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    with pytest.raises(ConfigurationInvalid, match=rf"sv\.yaml.*{re.escape(wrong)}"):
        load_formation_tables(home)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Well, you know, I prefer Python.", "User prefers Python"),
        ("So, like, I live in Rome.", "User lives in Rome"),
        ("Naja, weißt du, ich wohne in Bonn.", "ich wohne in Bonn"),
        ("Şey, biliyorsun, Ankara'da yaşıyorum.", "Ankara'da yaşıyorum"),
    ],
)
def test_what_only_fills_stands_in_no_memory(tables: FormationTables, text: str, told: str) -> None:
    assert [fact.text for fact in facts(tables, text)] == [told]

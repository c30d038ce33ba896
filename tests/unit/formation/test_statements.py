from __future__ import annotations

from datetime import UTC, datetime

import pytest

from aico_memory.domain.formation.form import form
from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.memory import OPEN

SAID = int(datetime(2026, 3, 4, 12, tzinfo=UTC).timestamp() * 1_000_000)


def us(year: int, month: int, day: int) -> int:
    return int(datetime(year, month, day, tzinfo=UTC).timestamp() * 1_000_000)


def facts(tables: FormationTables, text: str, recent: tuple[str, ...] = ()) -> list[FormedFact]:
    formed = form(text, role="user", speaker="", said_at_us=SAID, zone="UTC", recent=recent, tables=tables)
    return list(formed.facts)


@pytest.mark.parametrize(
    ("text", "predicate", "value"),
    [
        ("I live in Leeds with my sister.", "home_city", "Leeds"),
        ("Seit März wohne ich in Wien.", "home_city", "Wien"),
        ("Geçen hafta Bursa'ya taşındık.", "home_city", "Bursa"),
        ("I drive a blue Skoda.", "car", "blue Skoda"),
        ("Meine Lieblingsfarbe ist Grün.", "favourite:farbe", "Grün"),
        ("En sevdiğim renk mavi.", "favourite:renk", "mavi"),
        ("My internet provider is Telekom.", "attribute:internet provider", "Telekom"),
        ("Fıstığa alerjim var.", "allergy", "Fıstık"),
        ("Patronumun adı Mehmet Yılmaz.", "attribute:patron", "Mehmet Yılmaz"),
        ("Meine Chefin heißt Petra Klein.", "attribute:chef", "Petra Klein"),
    ],
)
def test_a_statement_becomes_predicate_and_shortest_value(
    tables: FormationTables, text: str, predicate: str, value: str
) -> None:
    (fact,) = facts(tables, text)
    assert (fact.subject, fact.predicate, fact.value, fact.act) == ("user", predicate, value, "assert")


@pytest.mark.parametrize(
    ("text", "act", "value"),
    [
        ("I don't live in Berlin anymore.", "end", "Berlin"),
        ("Ich wohne nicht mehr in Berlin.", "end", "Berlin"),
        ("Artık Berlin'de yaşamıyorum.", "end", "Berlin"),
        ("I never lived in Rome.", "retract", "Rome"),
        ("Ich habe nie in Rom gewohnt.", "retract", "Rom"),
        ("Hiç Roma'da yaşamadım.", "retract", "Roma"),
        ("No, actually I live in Hamburg.", "correct", "Hamburg"),
        ("Nein, ich wohne in Hamburg.", "correct", "Hamburg"),
        ("Hayır, Bolu'da yaşıyorum.", "correct", "Bolu"),
    ],
)
def test_the_act_is_read_in_three_languages(tables: FormationTables, text: str, act: str, value: str) -> None:
    (fact,) = facts(tables, text)
    assert (fact.predicate, fact.act, fact.value) == ("home_city", act, value)


def test_not_x_but_y_names_what_is_corrected(tables: FormationTables) -> None:
    for text in (
        "I live in Bonn, not Berlin.",
        "Ich wohne nicht in Berlin, sondern in Bonn.",
        "Berlin'de değil, Bonn'da yaşıyorum.",
    ):
        (fact,) = facts(tables, text)
        assert (fact.value, fact.corrected, fact.act) == ("Bonn", "berlin", "correct")


def test_no_longer_x_but_y_is_a_change_and_no_correction(tables: FormationTables) -> None:
    (fact,) = facts(tables, "Meine Lieblingsfarbe ist nicht mehr Blau, sondern Grün.")
    assert (fact.act, fact.value, fact.corrected) == ("assert", "Grün", "blau")


def test_a_correction_without_a_verb_takes_the_statement_before_it(tables: FormationTables) -> None:
    (fact,) = facts(tables, "Sorry, I meant Tuesday.", recent=("The standup is on Monday.",))
    assert (fact.subject, fact.predicate, fact.value, fact.act) == ("standup", "time", "Tuesday", "correct")


def test_that_was_never_true_takes_back_the_statement_before_it(tables: FormationTables) -> None:
    (back,) = facts(tables, "Das stimmte nie.", recent=("Ich wohne in Köln.",))
    assert (back.act, back.value) == ("retract", "Köln")


def test_what_is_said_instead_of_what_was_never_true_corrects_it(tables: FormationTables) -> None:
    (new,) = facts(tables, "Das stimmte nie. Ich wohne in Ulm.", recent=("Ich wohne in Köln.",))
    assert (new.act, new.value, new.corrected) == ("correct", "Ulm", "köln")


def test_somebody_else_has_a_subject_of_her_own(tables: FormationTables) -> None:
    who, where = facts(tables, "My sister Lena lives in Porto.")
    assert (who.subject, who.predicate, who.value) == ("user", "attribute:sister", "Lena")
    assert (where.subject, where.predicate, where.value) == ("lena", "home_city", "Porto")


def test_until_a_day_holds_to_the_end_of_that_day(tables: FormationTables) -> None:
    for text in ("Until Friday I'm in Ghent.", "Bis Freitag bin ich in Gent.", "Cumaya kadar Gent'teyim."):
        (fact,) = facts(tables, text)
        assert (fact.valid_from_us, fact.valid_until_us, fact.temporal_type) == (SAID, us(2026, 3, 7), "time_bounded")


def test_since_a_month_holds_from_its_first_day(tables: FormationTables) -> None:
    for text in (
        "I've been living in Porto since February.",
        "Seit Februar wohne ich in Porto.",
        "Şubattan beri Porto'da yaşıyorum.",
    ):
        (fact,) = facts(tables, text)
        assert (fact.valid_from_us, fact.valid_until_us) == (us(2026, 2, 1), OPEN)


@pytest.mark.parametrize(
    "text",
    [
        "If I lived in Rome I'd be happy.",
        "I wish I lived in Rome.",
        "Do I live in Rome?",
        "Keşke Roma'da yaşasaydım.",
        "Wenn ich in Rom wohnen würde!",
    ],
)
def test_wishes_and_questions_state_nothing(tables: FormationTables, text: str) -> None:
    assert facts(tables, text) == []


def test_a_plan_is_foresight_and_changes_nothing_now(tables: FormationTables) -> None:
    formed = form("I want to move to Rome.", role="user", speaker="", said_at_us=SAID, zone="UTC", recent=(), tables=tables)
    assert formed.facts == ()
    (plan,) = formed.foresight
    assert (plan.kind, plan.valid_until_us) == ("plan", SAID + 7 * 86_400_000_000)


def test_what_the_assistant_says_states_nothing_about_the_user(tables: FormationTables) -> None:
    formed = form("I live in Rome.", role="assistant", speaker="", said_at_us=SAID, zone="UTC", recent=(), tables=tables)
    assert formed.facts == ()

""" "X, not Y" after Y was told corrects it, however politely it is said; only the value is taken."""

from __future__ import annotations

import pytest

from aico_memory.domain.formation.form import form
from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.formation.grammar import FormationTables

SAID = 1_772_625_600_000_000
BEFORE = {"en": "I moved to Oslo.", "de": "Ich bin nach Oslo gezogen.", "tr": "Oslo'ya taşındım."}


def told(tables: FormationTables, language: str, text: str) -> FormedFact:
    recent = (BEFORE[language],)
    (fact,) = form(text, role="user", speaker="", said_at_us=SAID, zone="UTC", recent=recent, tables=tables).facts
    return fact


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "Actually I moved to Bergen, not Oslo."),
        ("en", "Actually, I moved to Bergen last week, not to Oslo."),
        ("en", "Actually it was Bergen, not Oslo."),
        ("en", "It was Bergen, not Oslo."),
        ("en", "Actually, it's Bergen, not Oslo."),
        ("en", "That was Bergen, not Oslo."),
        ("en", "My mistake, it was Bergen, not Oslo."),
        ("en", "Forgive me, I live in Bergen, not Oslo."),
        ("en", "I'm sorry, I live in Bergen, not in Oslo."),
        ("en", "I am so sorry, it was Bergen, not Oslo."),
        ("de", "Entschuldige, ich bin nach Bergen gezogen, nicht nach Oslo."),
        ("de", "Entschuldigen Sie, ich wohne in Bergen, nicht in Oslo."),
        ("de", "Tut mir leid, ich wohne in Bergen, nicht in Oslo."),
        ("de", "Eigentlich bin ich nach Bergen gezogen, nicht nach Oslo."),
        ("de", "Eigentlich war es Bergen, nicht Oslo."),
        ("de", "Es war Bergen, nicht Oslo."),
        ("de", "Mein Fehler, es ist Bergen, nicht Oslo."),
        ("tr", "Aslında Bergen'e taşındım, Oslo'ya değil."),
        ("tr", "Özür dilerim, Bergen'e taşındım, Oslo'ya değil."),
        ("tr", "Aslında Bergen'di, Oslo değil."),
    ],
)
def test_a_contrast_corrects_what_was_told(tables: FormationTables, language: str, text: str) -> None:
    fact = told(tables, language, text)
    assert (fact.predicate, fact.value, fact.act, fact.corrected) == ("home_city", "Bergen", "correct", "oslo")


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "Actually I live in Bergen now, not in Oslo."),
        ("en", "Actually I moved to Bergen."),
        ("de", "Eigentlich wohne ich jetzt in Bergen, nicht in Oslo."),
        ("tr", "Aslında artık Bergen'de yaşıyorum, Oslo'da değil."),
    ],
)
def test_what_is_so_now_is_a_change(tables: FormationTables, language: str, text: str) -> None:
    fact = told(tables, language, text)
    assert (fact.value, fact.act) == ("Bergen", "assert")


@pytest.mark.parametrize("text", ["I'm sorry, I live in Bergen.", "Tut mir leid, ich wohne in Bergen."])
def test_who_is_sorry_takes_nothing_back_by_that(tables: FormationTables, text: str) -> None:
    (fact,) = form(text, role="user", speaker="", said_at_us=SAID, zone="UTC", recent=(), tables=tables).facts
    assert fact.value == "Bergen"

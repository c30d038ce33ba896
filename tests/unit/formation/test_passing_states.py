"""Feelings and states of the body pass: none is a lasting fact, and what sounds alike and lasts is."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from aico_memory.domain.formation.form import form
from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.formation.when import to_us
from aico_memory.domain.memory import OPEN

SAID, DAY_ENDS = (to_us(datetime(2026, 5, day, hour, tzinfo=UTC)) for day, hour in ((28, 10), (29, 0)))
PASSING = {
    "en": (
        "I am so tired.", "I'm tired today.", "I am so tired", "I'm exhausted right now.", "I'm sad.", "I'm really happy!",
        "I feel sick.", "I am hungry.", "I'm so bored and lonely.", "I've been so tired lately.", "I'm stressed out.",
        "I have a headache.", "I've got a fever.", "I have a terrible hangover.", "I'm in a bad mood.",
        "I have a sore throat.", "I have the flu.",
        "I'm in pain.",
    ),
    "de": (
        "Ich bin müde.", "Ich bin traurig.", "Ich bin so müde!", "Ich bin heute müde.", "Mir ist kalt.", "Ich habe Hunger.",
        "Ich bin völlig erschöpft.", "Ich bin glücklich.", "Ich fühle mich einsam.", "Ich bin traurig und müde.",
        "Ich habe Kopfschmerzen.", "Ich habe Fieber.", "Ich habe schlechte Laune.", "Ich habe Heimweh.", "Ich bin gestresst.",
        "Ich bin im Stress.", "Ich habe Grippe.",
    ),
    "tr": (
        "Çok üzgünüm", "Mutluyum", "Mutluyum.", "Çok yorgunum.", "Bugün yorgunum.", "Üzgünüm.", "Açım.", "Uykum var.",
        "Kendimi yalnız hissediyorum.", "Kızgınım.", "Heyecanlıyım.", "Aç ve yorgunum.", "Moralim bozuk.", "Çok stresliyim.",
        "Gerginim.", "Kız kardeşim üzgün.", "Ateşim var.", "Baş ağrım var.", "Grip oldum.",
    ),
}  # fmt: skip
ILL = (("en", "I'm sick."), ("en", "My son is sick."), ("de", "Ich bin krank."), ("tr", "Hastayım."), ("tr", "Biraz hastayım."))
# [language, message, predicate, value]
LASTING = (
    ("en", "I am vegetarian.", "diet", "vegetarian"), ("en", "I am allergic to nuts.", "allergy", "nuts"),
    ("en", "I'm a nurse.", "role", "nurse"), ("en", "I am diabetic.", "condition", "diabetic"),
    ("en", "I have asthma.", "condition", "asthma"), ("en", "I'm on sick leave.", "status", "sick leave"),
    ("en", "I am so tired, I live in Bath.", "home_city", "Bath"), ("en", "I've been sick since Monday.", "status", "sick"),
    ("de", "Ich bin Vegetarier.", "diet", "Vegetarier"), ("de", "Ich bin allergisch gegen Nüsse.", "allergy", "Nüsse"),
    ("de", "Ich bin Krankenschwester.", "role", "Krankenschwester"), ("de", "Ich bin Diabetiker.", "condition", "Diabetiker"),
    ("de", "Ich habe Asthma.", "condition", "Asthma"), ("de", "Ich bin krankgeschrieben.", "status", "krankgeschrieben"),
    ("de", "Ich bin seit Montag krank.", "status", "krank"),
    ("tr", "Vejetaryenim.", "diet", "Vejetaryen"), ("tr", "Fındığa alerjim var.", "allergy", "Fındık"),
    ("tr", "Hemşireyim.", "role", "Hemşire"), ("tr", "Diyabetim var.", "condition", "diyabet"),
    ("tr", "Evliyim.", "be", "Evli"), ("tr", "Solağım.", "be", "Solak"), ("tr", "Hamileyim.", "role", "Hamile"),
    ("tr", "Çok yorgunum, Ankara'da yaşıyorum.", "home_city", "Ankara"), ("tr", "Kedim var.", "pet", "kedi"),
)  # fmt: skip


def _facts(text: str, language: str, tables: FormationTables) -> tuple[FormedFact, ...]:
    return form(text, role="user", speaker="", said_at_us=SAID, zone="UTC", recent=(), tables=tables, language=language).facts


@pytest.mark.parametrize(("language", "text"), [(language, text) for language, texts in PASSING.items() for text in texts])
def test_a_feeling_is_no_fact(tables: FormationTables, language: str, text: str) -> None:
    assert not _facts(text, language, tables)


@pytest.mark.parametrize(("language", "text"), ILL)
def test_who_is_ill_is_so_today(tables: FormationTables, language: str, text: str) -> None:
    (fact,) = _facts(text, language, tables)
    assert (fact.predicate, fact.valid_from_us, fact.valid_until_us) == ("status", SAID, DAY_ENDS)


@pytest.mark.parametrize(("language", "text", "predicate", "value"), LASTING)
def test_what_one_is_lasts(tables: FormationTables, language: str, text: str, predicate: str, value: str) -> None:
    held = [(fact.predicate, fact.value) for fact in _facts(text, language, tables) if fact.valid_until_us == OPEN]
    assert held == [(predicate, value)]


@pytest.mark.parametrize(("language", "text"), [("en", "I am single."), ("tr", "Bekarım.")])
def test_who_is_single_has_no_partner(tables: FormationTables, language: str, text: str) -> None:
    assert [(fact.act, fact.predicate) for fact in _facts(text, language, tables)] == [("end", "partner")]

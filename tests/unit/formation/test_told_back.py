"""What an answer says to the person is read as the person would say it; questions, denials and suppositions are not."""

from __future__ import annotations

import pytest

from aico_memory.domain.formation.form import form
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.formation.told_back import told_back

NOW = 1_772_000_000_000_000


def keys_of(text: str, tables: FormationTables) -> set[tuple[str, str, str]]:
    """What the person states with it."""
    read = form(text, role="user", speaker="", said_at_us=NOW, zone="UTC", recent=(), tables=tables)
    return {(fact.subject, fact.predicate, fact.object_key) for fact in read.facts}


def told_keys(answer: str, tables: FormationTables) -> set[tuple[str, str, str]]:
    return {(fact.subject, fact.predicate, fact.object_key) for fact in told_back(answer, tables, NOW)}


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("I live in Rome.", "You live in Rome."),
        ("I live in Rome.", "Good news: you live in Rome!"),
        ("I live in Rome.", "As far as I know, you live in Rome."),
        ("I live in Rome.", "You told me that you live in Rome."),
        ("I live in Rome.", "I live in the cloud, but you live in Rome."),
        ("I am allergic to peanuts.", "Since you're allergic to peanuts, try the tofu."),
        ("My favourite tea is Earl Grey.", "Your favourite tea is Earl Grey."),
        ("My cat Miso hates the vacuum cleaner.", "Your cat Miso hates the vacuum cleaner."),
        ("I work at Siemens as a nurse.", "From what you told me, you work at Siemens as a nurse."),
        ("Ich wohne in Rom.", "Du wohnst in Rom."),
        ("Ich wohne in Rom.", "Soweit ich weiß, wohnst du in Rom."),
        ("Ich wohne in Rom.", "Du hast mir erzählt, dass du in Rom wohnst."),
        ("Ich habe eine Katze.", "Du hast eine Katze."),
        ("Ich arbeite bei Siemens.", "Du arbeitest bei Siemens."),
        ("Ich spreche Italienisch.", "Du sprichst Italienisch."),
        ("Ich esse gern Pizza.", "Du isst gern Pizza."),
        ("Mein Lieblingstee ist Earl Grey.", "Dein Lieblingstee ist Earl Grey."),
        ("Meine Katze heißt Miso.", "Du wohnst in Rom, und deine Katze heißt Miso."),
        ("Roma'da yaşıyorum.", "Roma'da yaşıyorsun."),
        ("Roma'da yaşıyorum.", "Roma'da yaşıyorsunuz."),
        ("En sevdiğim çay Earl Grey.", "En sevdiğin çay Earl Grey."),
        ("Fıstığa alerjim var.", "Fıstığa alerjin var."),
        ("Kedimin adı Miso.", "Kedinin adı Miso."),
        ("Adım Ada.", "Adın Ada."),
        ("Doktorum.", "Doktorsun."),
        ("Çay severim.", "Çay seversin."),
    ],
)
def test_it_says_what_the_person_said(said: str, answer: str, tables: FormationTables) -> None:
    stated = keys_of(said, tables)
    assert stated and stated <= told_keys(answer, tables)


@pytest.mark.parametrize(
    "answer",
    [
        "Do you live in Rome?", "You live in Rome?", "You don't live in Rome.", "You no longer live in Rome.",
        "You used to live in Rome.", "You lived in Rome.", "You might live in Rome.", "Maybe you live in Rome.",
        "If you live in Rome, take the metro.", "I don't think you live in Rome.", "I doubt that you live in Rome.",
        "It's not true that you live in Rome.", "Imagine you live in Rome.", "I live in Rome.", "Anna lives in Rome.",
        "So you live in Rome, right", "I'm not sure you live in Rome.", "Ich glaube nicht, dass du in Rom wohnst.",
        "> You live in Rome.", "Take the metro.", "",
        "Wohnst du in Rom?", "Du wohnst nicht in Rom.", "Du wohnst nicht mehr in Rom.", "Vielleicht wohnst du in Rom.",
        "Wenn du in Rom wohnst, nimm die Metro.", "Ich wohne in Rom.",
        "Roma'da mı yaşıyorsun?", "Roma'da yaşamıyorsun.", "Artık Roma'da yaşamıyorsun.", "Belki Roma'da yaşıyorsun.",
        "Roma'da yaşıyorum.",
    ],
)  # fmt: skip
def test_what_is_asked_denied_supposed_or_said_of_others_is_not_told(answer: str, tables: FormationTables) -> None:
    assert "home_city" not in {predicate for _, predicate, _ in told_keys(answer, tables)}

"""A correction of a few words gives the whole of the value, whatever words say that something was wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from aico_memory.domain.formation.acts import read_speech
from aico_memory.domain.formation.form import form
from aico_memory.domain.formation.grammar import FormationTables

SAID = 1_772_625_600_000_000
TOLD = {
    "en": ("I live in Rome.", "My boss is Anna.", "My rent is 900 euros."),
    "de": ("Ich wohne in Rom.", "Meine Chefin ist Anna.", "Meine Miete beträgt 900 Euro."),
    "tr": ("Roma'da yaşıyorum.", "Patronum Anna.", "Kiram 900 euro."),
}
FORMS = yaml.safe_load((Path(__file__).parent / "brief_corrections.yaml").read_text(encoding="utf-8"))
WHICH = FORMS.pop("which")


@pytest.mark.parametrize(
    ("language", "before", "text", "value", "corrected"),
    [
        ("en", "My weight is 82 kg.", "Sorry, I meant 83 kg, not 82 kg.", "83 kg", "82 kg"),
        ("en", "I live in New York.", "Sorry, I meant New Haven, not New York.", "New Haven", "new york"),
        ("en", "My rent is 1,200 dollars.", "Oops, 1,350 dollars, not 1,200 dollars.", "1,350 dollars", "1 200 dollars"),
        ("en", "My dog is called Lady Luna.", "Correction: Sir Barks, not Lady Luna.", "Sir Barks", "lady luna"),
        ("en", "I live in Rome.", "Oslo, not Rome, sorry.", "Oslo", "rome"),
        ("en", "I live in New York.", "San Diego, not New York, my mistake.", "San Diego", "new york"),
        ("en", "I live in Rome.", "Typo: Oslo instead of Rome.", "Oslo", "rome"),
        ("en", "My rent is 900 euros.", "No, it is not 900 euros, it is 950 euros.", "950 euros", "900 euros"),
        ("de", "Ich wohne in Bad Homburg.", "Korrektur: Bad Nauheim, nicht Bad Homburg.", "Bad Nauheim", "bad homburg"),
        ("de", "Meine Miete beträgt 900 Euro.", "Ups, 950 Euro, nicht 900 Euro.", "950 Euro", "900 euro"),
        ("de", "Ich wohne in Rom.", "Oslo, nicht Rom, sorry.", "Oslo", "rom"),
        ("de", "Ich wohne in Rom.", "Tippfehler: Oslo statt Rom.", "Oslo", "rom"),
        ("de", "Ich wohne in Rom.", "Ich sagte Rom, meinte aber Oslo.", "Oslo", "rom"),
        ("tr", "Köpeğimin adı Karabaş.", "Pardon, Pamuk demek istedim, Karabaş değil.", "Pamuk", "karabaş"),
        ("tr", "Köpeğimin adı Kara Bela.", "Kara Bela dedim ama Ak Pamuk demek istedim.", "Ak Pamuk", "kara bela"),
        ("tr", "Köpeğimin adı Karabaş.", "Karabaş yerine Pamuk olacaktı.", "Pamuk", "karabaş"),
        ("tr", "En sevdiğim renk mavi.", "Mavi yanlış, doğrusu yeşil.", "yeşil", "mavi"),
    ],
)
def test_a_brief_correction_gives_the_whole_value(
    tables: FormationTables, language: str, before: str, text: str, value: str, corrected: str
) -> None:
    formed = form(
        text, role="user", speaker="", said_at_us=SAID, zone="UTC", recent=(before,), tables=tables, language=language
    )
    assert [(fact.value, fact.act, fact.corrected) for fact in formed.facts] == [(value, "correct", corrected)]


@pytest.mark.parametrize(
    ("language", "text", "value", "old"),
    [
        ("en", "I meant Santiago de Chile, not Rio de Janeiro", "Santiago de Chile", "Rio de Janeiro"),
        (
            "de",
            "Korrektur: Kürbissuppe mit Ingwer, nicht Linsensuppe mit Speck",
            "Kürbissuppe mit Ingwer",
            "Linsensuppe mit Speck",
        ),
        ("tr", "mercimek çorbası yerine domates çorbası olacaktı", "domates çorbası", "mercimek çorbası"),
        ("en", "Oops, I live in Santiago de Chile, not Rome", "I live in Santiago de Chile", "Rome"),
    ],
)
def test_a_value_of_several_words_is_taken_whole(
    tables: FormationTables, language: str, text: str, value: str, old: str
) -> None:
    speech = read_speech(text, tables.grammars[language])
    assert (speech.act, speech.text, speech.corrected) == ("correct", value, old)


@pytest.mark.parametrize(("language", "text"), [("en", "Tea instead of coffee."), ("de", "Tee statt Kaffee.")])
def test_one_thing_in_place_of_another_corrects_nothing_by_itself(tables: FormationTables, language: str, text: str) -> None:
    assert read_speech(text, tables.grammars[language]).act == ""


@pytest.mark.parametrize(
    ("language", "told", "old", "new", "said"),
    [
        (language, told, old, new, wording)
        for language, content in FORMS.items()
        for told, old, new in content["told"]
        for wording in content["forms"]
    ],
)
def test_a_value_is_corrected_in_many_words(
    tables: FormationTables, language: str, told: str, old: str, new: str, said: str
) -> None:
    text = said.format(o=old, n=new)
    formed = form(
        text[:1].upper() + text[1:], role="user", speaker="", said_at_us=SAID, zone="UTC", recent=(told.format(old),),
        tables=tables, language=language,
    )  # fmt: skip
    assert [(one.act, one.value.casefold()) for one in formed.facts] == [("correct", new.casefold())]


@pytest.mark.parametrize(
    ("language", "text"), [(language, text) for language, content in FORMS.items() for text in content["corrects_nothing"]]
)
def test_what_only_sounds_like_a_correction_corrects_nothing(tables: FormationTables, language: str, text: str) -> None:
    for told in TOLD[language]:
        formed = form(
            text, role="user", speaker="", said_at_us=SAID, zone="UTC", recent=(told,), tables=tables, language=language
        )
        assert "correct" not in {one.act for one in formed.facts}


@pytest.mark.parametrize(("language", "before", "text", "predicate", "value"), WHICH)
def test_a_correction_is_of_the_newest_fact_of_its_kind(
    tables: FormationTables, language: str, before: list[str], text: str, predicate: str, value: str
) -> None:
    formed = form(text, role="user", speaker="", said_at_us=SAID, zone="UTC", recent=before, tables=tables, language=language)
    assert [(one.predicate, one.value) for one in formed.facts] == ([(predicate, value)] if predicate else [])
    assert all(one.act == "correct" for one in formed.facts)


def test_all_that_a_message_tells_by_one_number_is_corrected(tables: FormationTables) -> None:
    formed = form(
        "Sorry, 3.", role="user", speaker="", said_at_us=SAID, zone="UTC", recent=("I have 2 cats.",), tables=tables,
        language="en",
    )  # fmt: skip
    assert {(one.predicate, one.value, one.act) for one in formed.facts} == {
        ("count:cat", "3", "correct"),
        ("owns", "3 cats", "correct"),
    }

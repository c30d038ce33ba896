"""Statements that say what a question says, and put a value where it asks: with predicates that no table knows."""

from __future__ import annotations

from datetime import datetime

import pytest

from aico_memory.domain.formation.form import form
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.formation.when import to_us
from aico_memory.domain.memory import OPEN
from aico_memory.domain.recall.answer import RecallFigures, recalled
from aico_memory.domain.recall.choosing import by_wording
from aico_memory.domain.recall.mirrored import Mirrored, Utterance, mirrored
from aico_memory.domain.recall.question import understand
from aico_memory.domain.recall.slots import slot_of
from aico_memory.domain.recall.timeline import Held, Statement, resolve

Said = tuple[tuple[str, str], ...]


def at_us(day: str) -> int:
    return to_us(datetime.fromisoformat(f"{day}T12:00:00+00:00"))


def utterances(said: Said) -> list[Utterance]:
    return [Utterance(str(number).encode(), text, at_us(day)) for number, (day, text) in enumerate(said)]


def mirror_of(language: str, said: Said, question: str, day: str, tables: FormationTables) -> list[Mirrored]:
    grammar = tables.grammars[language]
    read = understand(question, grammar, tables, at_us(day), "UTC")
    slot = slot_of(read, grammar)
    return [] if slot is None else mirrored(slot, read.past, grammar, utterances(said), at_us(day))


def held_of(said: Said, tables: FormationTables) -> list[Held]:
    found = []
    for number, (day, text) in enumerate(said):
        earlier = tuple(text for _, text in said[:number])
        formed = form(text, role="user", speaker="", said_at_us=at_us(day), zone="UTC", recent=earlier, tables=tables)
        found += [Statement(b"%d.%d" % (number, place), fact, at_us(day), number) for place, fact in enumerate(formed.facts)]
    return resolve(found)


def answer(language: str, said: Said, question: str, day: str, tables: FormationTables) -> list[str]:
    """As recall answers: by facts, or by wording."""
    grammar, held = tables.grammars[language], held_of(said, tables)
    read = understand(question, grammar, tables, at_us(day), "UTC")
    facts = recalled(read, held, at_us(day), tables, lambda texts: [0.0] * len(texts), RecallFigures())
    told = by_wording(facts, utterances(said), held, read, slot_of(read, grammar), grammar, at_us(day))
    return [one.value for one in told] or [one.fact.value for one in facts.answer]


BINS: Said = (
    ("2026-01-05", "Our bins are emptied on Tuesday."),
    ("2026-03-02", "From April on our bins are emptied on Friday."),
)
BAND: Said = (("2026-01-05", "Meine Band heißt Nachtschicht."), ("2026-02-05", "Die Band meines Bruders Ole heißt Treibgut."))
PLANTS: Said = (
    ("2026-01-05", "Auf meinem Balkon wachsen Tomaten und Basilikum."),
    ("2026-02-05", "Auf meinem Balkon wachsen jetzt auch Rosmarin und Salbei."),
)
CODE: Said = (
    ("2026-01-05", "Projelerimi Java ile yazıyorum."),
    ("2026-02-05", "Arkadaşım Barış projelerini Rust ile yazıyor."),
)
CLUBS: Said = (
    ("2026-01-05", "Kitap kulübümüz Kafe Mola'da buluşuyor."),
    ("2026-01-06", "Satranç kulübümüz Halkevi'nde buluşuyor."),
    ("2026-02-05", "Kitap kulübümüz artık Köşe Sahaf'ta buluşuyor."),
)
POWER: Said = (
    ("2026-01-05", "Unseren Strom beziehen wir von Vattenfall."),
    ("2026-02-05", "Meine Nachbarin Gisela bezieht ihren Strom jetzt von Lichtblick."),
)
LEAD: Said = (("2026-03-05", "Until 20 March Keisha is covering for our librarian."),)
GAP: Said = (("2026-01-05", "Jonas fährt mit dem Bus und Klara mit dem Rad zur Schule."),)
INSTEAD: Said = (("2026-01-05", "Wir treffen uns ab jetzt samstags statt sonntags zum Laufen."),)
REPLACED: Said = (("2026-01-05", "Statt Max kommt jetzt Moritz mit zum Zelten."),)
BROTHER: Said = (("2026-01-05", "Mein Bruder wohnt in Trier."), ("2026-01-06", "Von meinem Bruder habe ich eine Uhr."))
NAMED: Said = (("2026-01-05", "Mein Bruder ist der Tim."),)
BUY: Said = (("2026-01-05", "I still have to buy a suitcase."), ("2026-01-06", "My sister still has to buy a tent."))


@pytest.mark.parametrize(
    ("language", "said", "question", "day", "values"),
    [
        ("en", BINS, "On which day are our bins emptied?", "2026-03-10", ["on Tuesday"]),
        ("en", BINS, "On which day are our bins emptied?", "2026-04-10", ["on Friday"]),
        ("en", BUY, "What do I still have to buy?", "2026-02-01", ["suitcase"]),
        ("en", LEAD, "Who is covering for our librarian?", "2026-03-10", ["Keisha"]),
        ("en", LEAD, "Who is covering for our librarian?", "2026-03-25", []),
        ("de", BAND, "Wie heißt Oles Band?", "2026-03-01", ["Treibgut"]),
        ("de", BAND, "Wie heißt meine Band?", "2026-03-01", ["Nachtschicht"]),
        ("de", PLANTS, "Was wächst auf meinem Balkon?", "2026-01-20", ["Tomaten", "Basilikum"]),
        ("de", PLANTS, "Was wächst auf meinem Balkon?", "2026-03-01", ["Tomaten", "Basilikum", "Rosmarin", "Salbei"]),
        ("de", POWER, "Von wem beziehen wir unseren Strom?", "2026-03-01", ["Vattenfall"]),
        ("de", POWER, "Von wem bezieht Gisela ihren Strom?", "2026-03-01", ["Lichtblick"]),
        ("de", GAP, "Wie fährt Klara zur Schule?", "2026-03-01", ["Rad"]),
        ("de", INSTEAD, "Wann treffen wir uns zum Laufen?", "2026-03-01", ["samstags"]),
        ("de", REPLACED, "Wer kommt mit zum Zelten?", "2026-03-01", ["Moritz"]),
        ("de", NAMED, "Wie heißt mein Bruder?", "2026-03-01", ["Tim"]),
        ("tr", CODE, "Projelerimi hangi dille yazıyorum?", "2026-03-01", ["Java"]),
        ("tr", CODE, "Barış projelerini hangi dille yazıyor?", "2026-03-01", ["Rust"]),
        ("tr", CLUBS, "Kitap kulübümüz nerede buluşuyor?", "2026-01-20", ["Kafe Mola"]),
        ("tr", CLUBS, "Kitap kulübümüz nerede buluşuyor?", "2026-03-01", ["Köşe Sahaf"]),
        ("tr", CLUBS, "Satranç kulübümüz nerede buluşuyor?", "2026-03-01", ["Halkevi"]),
    ],
)  # fmt: skip
def test_a_statement_answers_the_question_that_mirrors_it(
    language: str, said: Said, question: str, day: str, values: list[str], tables: FormationTables
) -> None:
    assert [one.value for one in mirror_of(language, said, question, day, tables)] == values


@pytest.mark.parametrize(
    ("language", "said", "question"),
    [
        ("en", BINS, "On which day is our street swept?"),
        ("en", BINS, "Are our bins emptied on Tuesday?"),
        ("en", BINS, "Who empties Jonah's bins?"),
        ("en", (("2026-01-05", "If I win, our bins are painted green."),), "What are our bins painted?"),
        ("en", (("2026-01-05", "On which day are our bins emptied?"),), "On which day are our bins emptied?"),
        ("de", POWER, "Von wem beziehen wir unser Gas?"),
        ("de", POWER, "Von wem bezieht Karin ihren Strom?"),
        ("de", BROTHER, "Wie heißt mein Bruder?"),
        ("tr", CODE, "Oyunlarımı hangi dille yazıyorum?"),
        ("tr", CLUBS, "Yüzme kulübümüz nerede buluşuyor?"),
    ],
)
def test_what_no_statement_says_is_not_answered(language: str, said: Said, question: str, tables: FormationTables) -> None:
    assert mirror_of(language, said, question, "2026-06-01", tables) == []


def test_an_answer_knows_from_when_until_when_it_held(tables: FormationTables) -> None:
    (before,) = mirror_of("en", BINS, "On which day are our bins emptied?", "2026-03-10", tables)
    (after,) = mirror_of("en", BINS, "On which day are our bins emptied?", "2026-05-10", tables)
    assert (before.utterance.id, before.from_us) == (b"0", at_us("2026-01-05"))
    assert before.until_us == after.from_us
    assert at_us("2026-03-31") < after.from_us < at_us("2026-04-01")
    assert after.until_us == OPEN


def test_a_correction_holds_from_the_beginning_of_what_it_corrects(tables: FormationTables) -> None:
    said = (("2026-02-10", "My ferry to Porto leaves at 9:40."), ("2026-02-12", "Sorry, I meant it leaves at 9:14."))
    (told,) = mirror_of("en", said, "What time does my ferry to Porto leave?", "2026-02-11", tables)
    assert told.value == "9:14"


def test_what_is_denied_ends(tables: FormationTables) -> None:
    said = (
        ("2026-01-05", "Our choir rehearses in the crypt."),
        ("2026-02-05", "Our choir does not rehearse in the crypt any more."),
    )
    question = "Where does our choir rehearse?"
    assert [one.value for one in mirror_of("en", said, question, "2026-01-20", tables)] == ["crypt"]
    assert mirror_of("en", said, question, "2026-03-01", tables) == []


def test_facts_answer_where_they_know_of_a_change_that_the_wording_does_not_show(tables: FormationTables) -> None:
    said = (("2026-01-05", "I live in Leeds."), ("2026-02-05", "We have just moved to Bristol."))
    assert answer("en", said, "Where do I live?", "2026-03-01", tables) == ["Bristol"]
    assert answer("en", said, "Where do I live?", "2026-01-20", tables) == ["Leeds"]


def test_wording_answers_where_the_facts_speak_of_somebody_else(tables: FormationTables) -> None:
    said = (
        ("2026-01-05", "Meine Schuhgröße ist 43."),
        ("2026-01-06", "Frieda ist 1,41 m groß."),
        ("2026-01-07", "Emil ist 1,36 m groß."),
    )
    assert answer("de", said, "Wie groß ist Frieda?", "2026-02-01", tables) == ["1,41 m"]


def test_what_was_ended_or_taken_back_is_not_answered_by_the_words_that_once_said_it(tables: FormationTables) -> None:
    cancelled = (
        ("2026-01-05", "My dentist appointment is on 10 March."),
        ("2026-02-05", "My dentist appointment has been cancelled."),
    )
    assert answer("en", cancelled, "When is my dentist appointment?", "2026-03-01", tables) == []
    moved_out = (("2026-01-05", "I am allergic to nuts."), ("2026-02-05", "It was never true that I am allergic to nuts."))
    assert answer("en", moved_out, "What am I allergic to?", "2026-03-01", tables) == []


def test_facts_gather_what_was_said_one_after_the_other(tables: FormationTables) -> None:
    said = (("2026-01-05", "I'm allergic to nuts."), ("2026-02-05", "I'm allergic to eggs."))
    assert answer("en", said, "What am I allergic to?", "2026-03-01", tables) == ["nuts", "eggs"]


def test_of_one_thing_that_is_asked_for_the_last_that_was_said_holds(tables: FormationTables) -> None:
    said = (("2026-01-05", "I work in our Reading office."), ("2026-02-05", "I work in our Slough office."))
    assert answer("en", said, "Which office do I work in?", "2026-03-01", tables) == ["Slough"]


KEISHA, COVERS = "Keisha covers for our manager.", "Who covers for our manager?"


@pytest.mark.parametrize(
    "said",
    [
        f'Bob wrote: "{KEISHA}"', f"> {KEISHA}", f"Bob said that {KEISHA}", f"Apparently {KEISHA}", f"Maybe {KEISHA}",
        "Keisha might cover for our manager.", "Keisha covers for our manager if Bo is ill.",
        "Does Keisha cover for our manager", "Keisha used to cover for our manager.",
        "Write a story in which Keisha covers for our manager.",
    ],
)  # fmt: skip
def test_what_is_quoted_supposed_hoped_or_only_heard_is_no_statement(said: str, tables: FormationTables) -> None:
    assert [one.value for one in mirror_of("en", (("2026-01-05", KEISHA),), COVERS, "2026-03-01", tables)] == ["Keisha"]
    assert mirror_of("en", (("2026-01-05", said),), COVERS, "2026-03-01", tables) == []


@pytest.mark.parametrize(
    "later",
    ["Forget that Keisha covers for our manager.", "That about Keisha was a joke.", "Keisha no longer covers for our manager."],
)
def test_what_is_taken_back_or_over_answers_no_more(later: str, tables: FormationTables) -> None:
    assert mirror_of("en", (("2026-01-05", KEISHA), ("2026-02-05", later)), COVERS, "2026-03-01", tables) == []


@pytest.mark.parametrize(
    ("language", "said", "question"),
    [
        ("en", "Tom tunes the piano in Bath.", "Where do I tune the piano?"),
        ("en", "Our choir is large. Tom rehearses in Leeds.", "Where does our choir rehearse?"),
        ("de", "Karins Auto versichert die Allianz.", "Wer versichert mein Auto?"),
        ("de", "Vielleicht vertritt Keisha unsere Chefin.", "Wer vertritt unsere Chefin?"),
        ("tr", "Barış dedi ki Keisha müdürümüze vekâlet ediyor.", "Müdürümüze kim vekâlet ediyor?"),
    ],
)
def test_what_is_said_of_others_or_by_others_is_not_mirrored(
    language: str, said: str, question: str, tables: FormationTables
) -> None:
    assert mirror_of(language, (("2026-01-05", said),), question, "2026-03-01", tables) == []


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "Our choir moved 99999 years ago."),
        ("en", "Our choir moves in 9999999999999 years."),
        ("en", "🎵 !!! … our choir"),
        ("de", "Unser Chor zog vor 99999999999 Jahren um."),
        ("tr", "Koromuz 99999999999 yıl önce taşındı."),
        pytest.param("en", "choir " * 4000, id="many words"),
        pytest.param("en", "c" * 20_000, id="a long word"),
        ("de", "Chor"),
        ("tr", "koromuz"),
        pytest.param("en", "", id="nothing"),
    ],
)
def test_no_message_keeps_a_question_from_its_answer(language: str, said: str, tables: FormationTables) -> None:
    question = {"en": "Where does our choir rehearse?", "de": "Wo probt unser Chor?", "tr": "Koromuz nerede prova yapıyor?"}[
        language
    ]
    known = {
        "en": "Our choir rehearses in the crypt.",
        "de": "Unser Chor probt in Kassel.",
        "tr": "Koromuz Kadıköy'de prova yapıyor.",
    }
    told = (("2026-01-05", known[language]), ("2026-02-05", said))
    assert len(mirror_of(language, told, question, "2026-03-01", tables)) == 1

"""Ordinary talk is worded like facts; it makes none, and ends none that were told."""

from __future__ import annotations

from pathlib import Path

import pytest

from aico_memory.domain.formation.form import form
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.formation.weight import WEAK
from aico_memory.errors import ConfigurationInvalid
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.paths import Home, config_file, find_home

AT_US = 1_767_600_000_000_000
# What there is one of, so that a wrong value takes the place of the right one.
SINGLE = {"role", "employer", "age", "school", "language", "partner", "home_city", "birthplace", "name"}
PASSING = {"owns", "attribute", "state", "location", "team", "sport_team", "project"}


@pytest.fixture(scope="module")
def tables() -> FormationTables:
    return load_formation_tables(find_home())


def facts(text: str, tables: FormationTables) -> list[tuple[str, str, str, str]]:
    found = form(text, role="user", speaker="", said_at_us=AT_US, zone="UTC", recent=(), tables=tables).facts
    return [(one.act, one.subject, one.predicate, one.value) for one in found]


@pytest.mark.parametrize(
    "text",
    [
        "That's a brilliant idea, Nina!",
        "That was a riot!",
        "It's been a long winter, but we made it.",
        "Been a hectic month since we talked.",
        "Here's a picture of my garden at the allotment.",
        "Here is our newest bench.",
        "Baking is a lovely way to unwind after a shift.",
        "Swimming was a lifesaver for me.",
        "I'm a mix of nervous and thrilled.",
        "I've loved trains since I was a kid.",
        "I remember that from when I was nine.",
        "This is one of my favourites.",
        "It's been a while since we met.",
        "Since we last spoke, a lot has happened.",
        "Speaking of which, how was your trip?",
        "Going to those evenings takes courage.",
        "I attended a lovely concert yesterday.",
        "It's so rewarding to help out at a shelter.",
        "My sister and I met some veterans at the fair.",
        "I met some people at the tournament, so I joined in.",
        "I started a choir with Anna.",
        "Marrying my partner was the best day.",
        "We ended up in a wild pub quiz.",
        "Everything is fine but it's a lot of pressure.",
        "I just lost all my work when the laptop crashed.",
        "I like living in the city.",
        "Her name is Juniper.",
        "She's full of energy.",
    ],
)
def test_ordinary_talk_makes_no_fact_of_which_there_is_one(text: str, tables: FormationTables) -> None:
    assert [one for one in facts(text, tables) if one[2] in SINGLE] == []


@pytest.mark.parametrize(
    "text",
    [
        "The view was just incredible.",
        "This cardigan is so soft.",
        "The atmosphere was really special.",
        "We had such a good time.",
        "I have some exciting news.",
        "Had a blast at the fair.",
        "I had a check-up last week.",
        "Japan has amazing food.",
        "Nature is so calming.",
        "It's so rewarding.",
        "I've got a lot of support from everybody.",
        "We always support each other.",
        "My team has been super encouraging.",
        "I'm working on something new.",
    ],
)
def test_what_somebody_finds_of_things_and_what_passes_is_no_possession_and_no_place(
    text: str, tables: FormationTables
) -> None:
    kept = [one for one in facts(text, tables) if one[2].partition(":")[0] in PASSING]
    assert kept == []


@pytest.mark.parametrize(
    ("text", "predicate", "value"),
    [
        ("The wifi password is hunter12.", "attribute:wifi password", "hunter12"),
        ("My favourite band is Big Thief.", "favourite:band", "Big Thief"),
        ("The spare key is under the doormat.", "location", "doormat"),
        ("I have a small garden.", "owns", "small garden"),
        ("I support Leeds United.", "sport_team", "Leeds United"),
        ("I'm on the payments team.", "team", "payments"),
    ],
)
def test_possessions_places_and_teams_stay(text: str, predicate: str, value: str, tables: FormationTables) -> None:
    assert (predicate, value) in [one[2:] for one in facts(text, tables)]


@pytest.mark.parametrize(
    ("text", "predicate", "value"),
    [
        ("I'm a barista at a small cafe downtown.", "role", "barista"),
        ("I'm head of logistics now.", "role", "head of logistics"),
        ("I became a paramedic last year.", "role", "paramedic"),
        ("My job is teaching maths.", "teach", "maths"),
        ("My brother is a plumber.", "role", "plumber"),
        ("I work at a bakery.", "employer", "bakery"),
        ("i work at acme", "employer", "acme"),
        ("I work for Baker & Sons.", "employer", "Baker & Sons"),
        ("I'm a nurse at St Mary's in Leeds.", "employer", "St Mary's"),
        ("I work at Luigi's on Mill Road.", "employer", "Luigi's"),
        ("I've just turned 41.", "age", "41"),
        ("i live in boston", "home_city", "boston"),
        ("I live on a farm.", "home_city", "farm"),
        ("my name is sam", "name", "sam"),
        ("I speak Welsh.", "language", "Welsh"),
        ("I'm dating Kofi.", "partner", "Kofi"),
    ],
)
def test_what_is_told_is_kept(text: str, predicate: str, value: str, tables: FormationTables) -> None:
    assert (predicate, value) in [one[2:] for one in facts(text, tables)]


def test_what_a_file_asks_of_values_is_checked(tmp_path: Path) -> None:
    home = Home(tmp_path)
    folder = home.config / "language"
    folder.mkdir(parents=True)
    shipped = config_file(home, "language/en.yaml").read_text(encoding="utf-8")
    wrong = shipped.replace("\n  values:\n    role:\n", "\n  values:\n    role:\n      heds: [x]\n")
    assert wrong != shipped
    (folder / "en.yaml").write_text(wrong, encoding="utf-8")
    with pytest.raises(ConfigurationInvalid, match=r"plausible\.values\.role\.heds"):
        load_formation_tables(home)


@pytest.mark.parametrize(
    "text",
    [
        "Seit wir zuletzt gesprochen haben, ist viel passiert.",
        "Die Aussicht war unglaublich.",
        "Wir hatten viel Spaß.",
        "Das war ein toller Tag mit Nina.",
        "Hier ist ein Bild von meiner Familie am Strand.",
    ],
)
def test_ordinary_talk_in_german_makes_no_fact(text: str, tables: FormationTables) -> None:
    assert facts(text, tables) == []


@pytest.mark.parametrize(
    ("text", "predicate", "value"),
    [
        ("Ich spreche Sorbisch.", "language", "Sorbisch"),
        ("Ich habe einen Schrebergarten.", "owns", "Schrebergarten"),
        ("Das WLAN-Passwort ist hase99.", "attribute:wlan-passwort", "hase99"),
    ],
)
def test_what_is_told_in_german_is_kept(text: str, predicate: str, value: str, tables: FormationTables) -> None:
    assert (predicate, value) in [one[2:] for one in facts(text, tables)]


@pytest.mark.parametrize(
    "text",
    [
        "Manzara inanılmazdı.",
        "Yemekler harikaydı, tadı damağımda kaldı.",
        "Hava bugün çok güzel.",
        "Ne güzel bir haber bu!",
        "Herkes çok nazikti.",
        "Son konuşmamızdan beri çok şey oldu.",
        "Fotoğraf çok hoş olmuş.",
        "Onun desteği benim için çok önemli.",
        "Kitap beni derinden etkiledi.",
        "Bugün parkta bir sürü insan vardı.",
        "İçimde güzel bir his var.",
        "Dün biraz vaktim vardı, mutfağı topladım.",
        "Bir sorum var.",
        "Resim yapmak bir terapi gibi.",
        "Ekip arkadaşlarım çok yardımcı oldu.",
        "Bahçe rengârenk çiçeklerle süslüydü.",
        "Dün gece harika vakit geçirdik.",
        "Her gün yeni bir şey öğreniyorum.",
        "Senin için çok sevindim.",
    ],
)
def test_ordinary_talk_in_turkish_makes_no_fact(text: str, tables: FormationTables) -> None:
    assert facts(text, tables) == []


def test_turkish_talk_of_a_home_does_not_take_the_place_of_where_somebody_lives(tables: FormationTables) -> None:
    assert "home_city" not in [one[2] for one in facts("Evim küçük ama güzel.", tables)]


@pytest.mark.parametrize(
    ("text", "predicate", "value"),
    [
        ("Wifi şifresi kaplan42.", "attribute:wifi şifre", "kaplan42"),
        ("Arabamın rengi siyah.", "attribute:rengi", "siyah"),
        ("Saçım kısa.", "attribute:saç", "kısa"),
        ("Tansiyonum yüksek.", "attribute:tansiyon", "yüksek"),
        ("Memleketim Sivas.", "home_city", "Sivas"),
        ("Annem emekli öğretmen.", "role", "emekli öğretmen"),
        ("Yazlığımız Ayvalık'ta.", "location", "Ayvalık"),
        ("Pasaportum çekmecede.", "location", "çekmece"),
        ("Toplantı cuma saat 10'da.", "time", "cuma saat 10"),
        ("Bir motosikletim var.", "owns", "motosiklet"),
        ("Bahçeli bir evim var.", "owns", "Bahçeli bir ev"),
        ("Pul topluyorum.", "hobby", "Pul"),
        ("İspanyolca konuşuyorum.", "language", "İspanyolca"),
        ("Evliyim.", "be", "Evli"),
    ],
)
def test_what_is_told_in_turkish_is_kept(text: str, predicate: str, value: str, tables: FormationTables) -> None:
    assert (predicate, value) in [one[2:] for one in facts(text, tables)]


def test_a_capital_that_opens_a_turkish_sentence_makes_no_name(tables: FormationTables) -> None:
    # How sure a reading is decides whether the gate writes it.
    opening = form(
        "Ateşin başında patates közledik.", role="user", speaker="", said_at_us=AT_US, zone="UTC", recent=(), tables=tables
    )
    inside = form(
        "Geçen yaz Kemal'le kavga ettik.", role="user", speaker="", said_at_us=AT_US, zone="UTC", recent=(), tables=tables
    )
    assert all(fact.confidence_base <= WEAK for fact in opening.facts)
    assert [fact.confidence_base > WEAK for fact in inside.facts] == [True]


@pytest.mark.parametrize(
    "text",
    ["She gave me a hug.", "They gave me a lift to the station.", "I came to London for the weekend.", "That is what I like."],
)
def test_gifts_that_nobody_keeps_and_visits_make_no_fact(text: str, tables: FormationTables) -> None:
    assert [one for one in facts(text, tables) if one[2] in SINGLE | {"owns", "computer"}] == []


@pytest.mark.parametrize(
    "text",
    [
        "I really appreciate your kind words.",
        "We stay motivated by cheering each other on.",
        "I keep smiling.",
        "Nature brings peace to my mind.",
        "I take time for myself.",
        "I took the kids to the aquarium.",
        "I'm gonna check my calendar and let you know.",
        "I share your enthusiasm!",
        "We work hard and play hard.",
        "I ended up laughing so much.",
        "I follow my heart.",
        "I push through the tough days.",
        "We roasted marshmallows and told ghost stories.",
    ],
)
def test_moods_and_idioms_make_no_fact_that_is_kept(text: str, tables: FormationTables) -> None:
    found = form(text, role="user", speaker="", said_at_us=AT_US, zone="UTC", recent=(), tables=tables).facts
    assert [fact for fact in found if fact.confidence_base > WEAK] == []


@pytest.mark.parametrize(
    ("text", "predicate", "value"),
    [
        ("I keep bees.", "keep", "bees"),
        ("My aunt keeps horses.", "keep", "horses"),
        ("I give piano lessons.", "give", "piano lessons"),
        ("I bring my own lunch to work.", "bring", "own lunch"),
        ("I take photos of birds.", "take", "photos of birds"),
        ("I find fossils for the museum.", "find", "fossils"),
        ("I work nights.", "work", "nights"),
        ("I wear contact lenses.", "wear", "contact lenses"),
        ("I fight fires.", "fight", "fires"),
        ("I follow Arsenal.", "follow", "Arsenal"),
        ("I keep rings.", "keep", "rings"),
    ],
)
def test_what_somebody_does_is_kept_by_the_same_verbs(text: str, predicate: str, value: str, tables: FormationTables) -> None:
    assert (predicate, value) in [one[2:] for one in facts(text, tables)]


def test_what_one_takes_on_occasion_is_not_what_one_takes_instead(tables: FormationTables) -> None:
    assert ("assert", "user", "drinks", "at weddings") not in facts("I don't drink wine, only at weddings.", tables)
    assert "weddings" not in " ".join(one[3] for one in facts("I don't drink wine, only at weddings.", tables))

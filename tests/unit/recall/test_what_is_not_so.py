"""What is so answers no question for what is not, what is done no longer answers none for what is, and the other way round."""

from __future__ import annotations

import pytest

from aico_memory.domain.formation.form import form
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.memory import OPEN
from aico_memory.domain.recall.reading.passage import Passage
from aico_memory.domain.recall.reading.picking import Reading
from aico_memory.domain.recall.reading.pool import only_asks
from tests.support.reading import DAY, START, answered, finding

LIKED = [
    ("en", ["I hate mushrooms.", "I love mushrooms now."], "What do I hate?", []),
    ("en", ["I hate mushrooms.", "I love mushrooms."], "What do I hate?", []),
    ("en", ["I love mushrooms.", "I hate mushrooms."], "What do I love?", []),
    ("en", ["I like jazz."], "What don't I like?", []),
    ("en", ["I like jazz."], "What do I not like?", []),
    ("en", ["I don't eat pork.", "I eat pork now."], "What don't I eat?", []),
    ("en", ["I eat pork.", "I don't eat pork."], "What don't I eat?", ["pork"]),
    ("en", ["I like neither tea nor coffee."], "What do I like?", []),
    ("en", ["I like neither tea nor coffee."], "What don't I like?", ["tea", "coffee"]),
    ("en", ["My sister likes neither tea nor coffee."], "What does my sister like?", []),
    ("de", ["Ich hasse Pilze.", "Ich liebe Pilze."], "Was hasse ich?", []),
    ("de", ["Ich mag Jazz."], "Was mag ich nicht?", []),
    ("de", ["Ich mag weder Tee noch Kaffee."], "Was mag ich nicht?", ["Tee", "Kaffee"]),
    ("de", ["Ich mag weder Tee noch Kaffee."], "Was mag ich?", []),
    ("tr", ["Mantardan nefret ediyorum.", "Mantarı seviyorum."], "Neyden nefret ediyorum?", []),
    ("tr", ["Caz severim."], "Neyi sevmem?", []),
    ("tr", ["Ne çay ne kahve severim."], "Neyi sevmiyorum?", ["çay", "kahve"]),
    ("tr", ["Ne çay ne kahve severim."], "Neyi severim?", []),
]
STOPPED = [
    ("en", ["I stopped taking aspirin."], "What do I take?", []),
    ("en", ["I stopped taking aspirin."], "What did I stop taking?", ["aspirin"]),
    ("en", ["I take aspirin and ibuprofen.", "I stopped taking aspirin."], "What do I take?", ["ibuprofen"]),
    ("en", ["I stopped drinking coffee."], "What do I drink?", []),
    ("en", ["We quit renting the Thornton barn."], "What do we rent?", []),
    ("de", ["Ich nehme Aspirin.", "Ich habe Aspirin abgesetzt."], "Was nehme ich?", []),
    ("tr", ["Aspirin kullanmayı bıraktım."], "Ne kullanıyorum?", []),
]


@pytest.mark.parametrize(("language", "said", "question", "values"), [*LIKED, *STOPPED])
def test_what_is_so_and_what_is_not(
    language: str, said: list[str], question: str, values: list[str], tables: FormationTables
) -> None:
    assert answered(tables, None, language, said, question).values == values


@pytest.mark.parametrize(
    ("language", "said", "question", "word"),
    [
        ("en", ["I hate mushrooms.", "I love mushrooms now."], "What do I hate?", "mushrooms"),
        ("en", ["I like jazz."], "What don't I like?", "jazz"),
        ("de", ["Ich mag Jazz."], "Was mag ich nicht?", "Jazz"),
        ("en", ["I stopped taking aspirin."], "What do I take?", "aspirin"),
        ("en", ["I gave up the cello."], "What do I play?", "cello"),
        ("de", ["Ich habe Aspirin abgesetzt."], "Was nehme ich?", "Aspirin"),
    ],
)
def test_a_reader_is_not_believed_of_the_contrary(
    language: str, said: list[str], question: str, word: str, tables: FormationTables
) -> None:
    assert answered(tables, finding(word), language, said, question).values == []


@pytest.mark.parametrize(
    ("language", "text"),
    [("en", "My dentist appointment is tomorrow."), ("de", "Mein Zahnarzttermin ist morgen."), ("tr", "Diş randevum yarın.")],
)
def test_tomorrow_is_over_when_its_day_is(language: str, text: str, tables: FormationTables) -> None:
    (fact,) = form(
        text, role="user", speaker="", said_at_us=START, zone="UTC", recent=(), tables=tables, language=language
    ).facts
    assert fact.predicate == "time"
    assert START + DAY < fact.valid_until_us <= START + 2 * DAY
    other = form(
        "My dentist appointment is on 3 April.", role="user", speaker="", said_at_us=START, zone="UTC", recent=(), tables=tables
    ).facts
    assert other[0].valid_until_us == OPEN


@pytest.mark.parametrize(
    ("language", "text"),
    [("de", "Ich habe bis März in Rom gewohnt."), ("en", "I have lived in Rome until last March.")],
)
def test_what_was_until_a_day_gone_by_is_over(language: str, text: str, tables: FormationTables) -> None:
    (fact,) = form(
        text, role="user", speaker="", said_at_us=START, zone="UTC", recent=(), tables=tables, language=language
    ).facts
    assert fact.valid_from_us == 0
    assert 0 < fact.valid_until_us < START


NEVER = [
    ("tr", ["Siemens'te çalışıyorum.", "Siemens'te hiç çalışmadım."], "Nerede çalışıyorum?", "Siemens'te"),
    ("tr", ["Bosch'ta çalışmıyorum."], "Nerede çalışıyorum?", "Bosch'ta"),
    ("en", ["I work at Siemens.", "I have never worked at Siemens."], "Where do I work?", "Siemens"),
    ("de", ["Ich arbeite bei Siemens.", "Ich habe nie bei Siemens gearbeitet."], "Wo arbeite ich?", "Siemens"),
]


@pytest.mark.parametrize(("language", "texts", "question", "read"), NEVER)
def test_what_never_was_is_not_read(tables: FormationTables, language: str, texts: list[str], question: str, read: str) -> None:
    assert answered(tables, finding(read), language, texts, question).values == []


def test_what_is_known_as_something_else_stands_in_for_nothing_that_was_taken_back(tables: FormationTables) -> None:
    texts = ["Ankara'da yaşıyorum.", "Siemens'te çalışıyorum.", "Siemens'te hiç çalışmadım."]
    assert answered(tables, finding("Ankara'da"), "tr", texts, "Nerede çalışıyorum?").values == []
    texts = ["I live in Lyon.", "I work at Siemens.", "I work at Bosch now.", "I have never worked at Bosch."]
    assert answered(tables, finding("Lyon"), "en", texts, "Where do I work?").values == ["Siemens"]


def test_what_was_taken_back_and_is_told_anew_is_read(tables: FormationTables) -> None:
    texts = ["I work at Siemens.", "I have never worked at Siemens.", "I work at Siemens now."]
    assert answered(tables, finding("Siemens"), "en", texts, "Where do I work?").values == ["Siemens"]


def test_what_is_so_no_longer_is_read_where_the_past_is_asked_for(tables: FormationTables) -> None:
    texts = ["Bosch'ta çalışıyordum.", "Artık Bosch'ta çalışmıyorum."]
    assert answered(tables, finding("Bosch'ta"), "tr", texts, "Eskiden nerede çalışıyordum?").values == ["Bosch"]


@pytest.mark.parametrize(
    ("language", "texts", "question", "value"),
    [
        ("en", ["My favourite tea is Earl Grey.", "What tea should I buy?", "x?"], "What is my favourite tea?", "Earl Grey"),
        ("tr", ["En sevdiğim çay Earl Grey.", "Hangi çayı almalıyım?", "x?"], "En sevdiğim çay ne?", "Earl Grey"),
    ],
)  # fmt: skip
def test_what_only_asks_is_not_read(
    tables: FormationTables, language: str, texts: list[str], question: str, value: str
) -> None:
    read: list[tuple[str, ...]] = []

    def reads(passage: Passage) -> Reading:
        read.append(passage.words[passage.begins :])
        return Reading([], answers=0.1)

    assert answered(tables, reads, language, texts, question).values == [value]
    assert read == [tuple(texts[0].split())]


@pytest.mark.parametrize(
    ("language", "text", "only"),
    [
        ("en", "What tea should I buy?", True),
        ("en", "x?", True),
        ("en", "Guess what, I moved to Rome?", False),
        ("en", "Did I say that I moved to Rome?", False),
        ("de", "Ich wohne ja in Rom, welchen Bus nehme ich da?", False),
        ("de", "Welchen Bus nehme ich?", True),
        ("tr", "Roma'da yaşıyorum, hangi otobüse bineyim?", False),
        ("tr", "Hangi çayı almalıyım?", True),
    ],
)  # fmt: skip
def test_what_tells_something_in_asking_is_read(tables: FormationTables, language: str, text: str, only: bool) -> None:
    assert only_asks(text, tables.grammars[language]) is only


def test_the_name_of_a_room_is_not_where_one_lives(tables: FormationTables) -> None:
    for question in ("What is our meeting room called?", "What's the name of our street?", "Which floor do I live on?"):
        assert answered(tables, None, "en", ["I live in Lyon."], question).values == []
    assert answered(tables, None, "de", ["Ich wohne in Lyon."], "Wo bin ich?").values == ["Lyon"]
    assert answered(tables, None, "tr", ["Lyon'da yaşıyorum."], "Neredeyim?").values == ["Lyon"]
    assert answered(tables, None, "en", ["I live in Lyon."], "Where am I?").values == ["Lyon"]

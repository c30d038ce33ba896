"""What is written with invisible marks or in full width is read as it looks; long texts are shown around the value."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.formation.wording import plain_letters
from aico_memory.domain.memory import RECORD, View
from aico_memory.domain.recall.excerpt import excerpt_around
from aico_memory.domain.scopes import scope_of
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.paths import find_home
from tests.services.semantic.told_and_asked import START, Memory

WIDE = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}


@pytest.fixture(scope="module")
def tables() -> FormationTables:
    return load_formation_tables(find_home())


@pytest.mark.parametrize(
    ("said", "question", "value"),
    [
        ("\u202eI live in Riga\u202c.", "Where do I live?", "Riga"),
        ("I live in Ri\u200bga.\ufeff", "Where do I live?", "Riga"),
        ("MY dog is called Rex.".translate(WIDE), "What is my dog called?", "Rex"),
        ("I live in Riga.", "Where do I live?".translate(WIDE), "Riga"),
        ("Ich wohne in \u2066Ulm\u2069.", "\u200eWo wohne ich?", "Ulm"),
        ("Bursa'da ya\u00adşıyorum.", "Nerede yaşıyorum?", "Bursa"),
    ],
)
def test_a_message_is_read_as_it_looks_and_kept_as_it_was_said(
    tables: FormationTables, said: str, question: str, value: str
) -> None:
    memory = Memory(tables)
    memory.say(said, 0)
    assert memory.values(question) == [value]
    (record,) = memory.store.page(View((scope_of("ana"),), START, kinds=(RECORD,)), b"", 10)
    assert record.text == said and value in plain_letters(said)


@pytest.mark.parametrize("text", ["👩‍👧 came", "½ of it… №5", "你好，世界", "naïve Ⅷ"])
def test_what_shows_something_stays_as_it_is(text: str) -> None:
    assert plain_letters(text).replace(",", "，") == text


@pytest.mark.parametrize("wide", [False, True])
def test_of_a_long_message_what_stands_around_the_value_is_told(tables: FormationTables, wide: bool) -> None:
    memory = Memory(tables)
    said = "My dog is called Argo."
    rest = " ".join(["The weather was fine."] * 1500)
    memory.say(f"{said.translate(WIDE) if wide else said} {rest}", 0)
    words = "The hotel wifi password is krokodil."
    memory.say(f"{rest[:3000]} {words} {rest}", 1)
    (dog,) = memory.ask("What is my dog called?").results
    assert dog.value == "Argo" and "Argo" in dog.memory and len(dog.memory) <= 500
    (wifi,) = memory.ask("What is the hotel wifi password?").results
    assert wifi.value == "krokodil" and "krokodil" in wifi.memory and len(wifi.memory) <= 500


@pytest.mark.parametrize(
    ("text", "value", "shown"),
    [
        ("short", "x", "short"),
        ("one two three four five six seven", "four", "…three four five…"),
        ("one two three four five six seven", "one", "one two three four…"),
        ("one two three four five six seven", "seven", "…five six seven"),
        ("one two three four five six seven", "eight", "one two three four…"),
        ("one two three four five six seven", "", "one two three four…"),
        ("five fourth three four five six seven", "four", "…three four five…"),
        ("x" * 100, "x" * 60, "x" * 18 + "…"),
        ("one two three f\u200bour five six seven", "four", "…three four five…"),
    ],
)
def test_an_excerpt_has_the_value_and_ends_between_words(text: str, value: str, shown: str) -> None:
    assert excerpt_around(text, value, 20) == shown


def test_an_excerpt_is_never_longer_than_it_may_be() -> None:
    text = "a bb ccc dddd eeeee ffffff ggggggg"
    values: Sequence[str] = [text[start:end] for start in range(len(text)) for end in range(start + 1, len(text))]
    for longest in (4, 9, 20):
        for value in values:
            shown = excerpt_around(text, value, longest)
            assert len(shown) <= longest
            assert len(value) > longest - 2 or value.strip() in shown

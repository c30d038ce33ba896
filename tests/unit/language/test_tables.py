"""Language tables: what a file may hold, and the rules that read them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.formation.language import LanguageTable
from aico_memory.domain.language.cues import intent_cues, sentiment_cues
from aico_memory.domain.language.detection import certain_language, is_foreign
from aico_memory.domain.language.small_talk import small_talk
from aico_memory.domain.language.tables import INTENTS, fold, table_of
from aico_memory.errors import ConfigurationInvalid
from aico_memory.models.language_tables import load_function_words, load_tables
from aico_memory.paths import Home

TABLES = load_tables(Home(Path("/nowhere")))
WORDS = load_function_words(Home(Path("/nowhere")))


def test_twelve_languages_are_shipped_and_each_speaks_for_every_intent() -> None:
    assert {"en", "de", "tr", "fr", "es", "it", "pt", "nl", "ru", "ar", "zh", "ja"} <= set(TABLES)
    for code, table in TABLES.items():
        assert set(table.intent_cues) == set(INTENTS), code
        assert all(table.intent_examples.values()), code
        assert table.greetings, code
        assert table.acknowledgements, code
        assert {"positive", "negative"} <= set(table.sentiment_cues), code


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Hi!", "greeting"), ("guten Morgen", "greeting"), ("Merhaba", "greeting"), ("你好", "greeting"),
        ("こんにちは！", "greeting"), ("Привет", "greeting"), ("مرحبا", "greeting"), ("¡Hola!", "greeting"),
        ("ok, thanks!", "acknowledgement"), ("Ja", "acknowledgement"), ("danke dir", "acknowledgement"),
        ("teşekkür ederim", "acknowledgement"),
        ("d'accord", "acknowledgement"), ("D’accord, merci", "acknowledgement"), ("好的", "acknowledgement"),
        ("/help", "command"), ("/reset now", "command"), ("👍", "empty"), ("...", "empty"), ("  ", "empty"),
    ],
)  # fmt: skip
def test_small_talk_is_recognised(text: str, kind: str) -> None:
    assert small_talk(text, TABLES.values()) == kind


@pytest.mark.parametrize(
    "text",
    ["Hi, where did I park?", "ok but what about Rome", "thanks for reminding me of the dentist", "What is my name?", "Rome",
     "Was mag ich?", "/usr/bin/python fails", "Hello, my name is Bob", "我叫什么名字"],
)  # fmt: skip
def test_a_message_that_says_more_is_no_small_talk(text: str) -> None:
    assert small_talk(text, TABLES.values()) == ""


@given(st.text(max_size=60))
def test_folding_is_stable_and_every_text_has_a_verdict(text: str) -> None:
    assert fold(fold(text)) == fold(text)
    assert small_talk(text, TABLES.values()) in {"", "greeting", "acknowledgement", "command", "empty"}


def test_a_negation_turns_the_feeling() -> None:
    assert sentiment_cues("I am very happy", TABLES["en"]) == {"positive": 0.5}
    assert sentiment_cues("I am not very happy", TABLES["en"]) == {"negative": 0.5}
    assert sentiment_cues("我不喜欢", TABLES["zh"]) == {"negative": 0.5}


def test_a_cue_is_a_whole_word_unless_it_says_otherwise() -> None:
    assert "planning" not in intent_cues("the aeroplane landed", TABLES["en"])
    assert "summary" in intent_cues("a summarised text", TABLES["en"])


@given(st.text(max_size=80), st.sampled_from(sorted(TABLES)))
def test_weights_of_cues_stay_within_bounds(text: str, code: str) -> None:
    for weights in (intent_cues(text, TABLES[code]), sentiment_cues(text, TABLES[code])):
        assert all(0 <= weight <= 1 for weight in weights.values())


@pytest.mark.parametrize(
    ("content", "key"),
    [
        ({"greeting": []}, "greeting"),
        ({"intents": {"shopping": {}}}, "shopping"),
        ({"intents": {"question": {"words": []}}}, "question"),
        ({"greetings": "hi"}, "greetings"),
        ({"acknowledgements": [True]}, "acknowledgements"),
        ({"intents": []}, "intents"),
    ],
)
def test_a_wrong_table_names_the_key(content: dict[str, object], key: str) -> None:
    with pytest.raises(ValueError, match=key):
        table_of("xx", content)


def test_adding_a_language_is_adding_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "config" / "language"
    folder.mkdir(parents=True)
    (folder / "sv.yaml").write_text("name: Svenska\ngreetings: [hej]\n")
    tables = load_tables(Home(tmp_path))
    assert small_talk("Hej!", tables.values()) == "greeting"
    (folder / "sv.yaml").write_text("name: Svenska\nhello: [hej]\n")
    with pytest.raises(ConfigurationInvalid, match=r"sv\.yaml.*hello"):
        load_tables(Home(tmp_path))


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Where did I put the keys of the car?", "en"), ("Wo habe ich die Schlüssel hingelegt?", "de"),
        ("我把钥匙放在哪里了", "zh"), ("Где мои ключи", "ru"), ("Write a short story about a keeper", "en"), ("Rome", ""),
    ],
)  # fmt: skip
def test_a_language_is_certain_only_where_enough_speaks_for_it(text: str, language: str) -> None:
    assert certain_language(text, WORDS) == language


def test_one_short_word_of_a_language_said_twice_is_no_certainty() -> None:
    table = LanguageTable({"pt": frozenset({"a", "o"}), "en": frozenset({"the"})}, {})
    assert certain_language("Write a short story around a lonely keeper", table) == ""
    assert certain_language("a casa e o jardim", table) == "pt"


def test_in_doubt_a_text_is_not_foreign() -> None:
    assert is_foreign("Wo habe ich die Schlüssel hingelegt?", ("en",), WORDS)
    assert not is_foreign("Where did I put the keys?", ("en",), WORDS)
    assert not is_foreign("Schlüssel", ("en",), WORDS)
    assert not is_foreign("Wo habe ich die Schlüssel hingelegt?", (), WORDS)

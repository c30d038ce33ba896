"""Entities by simple rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.formation.entities import MAX_ENTITIES, Gazetteer, extract_entities
from aico_memory.domain.formation.fact_key import MAX_LENGTH, normalise_fact_key
from aico_memory.errors import ConfigurationInvalid
from aico_memory.models.gazetteer import load_gazetteer
from aico_memory.paths import Home


@pytest.fixture(scope="module")
def gazetteer(tmp_path_factory) -> Gazetteer:
    return load_gazetteer(Home(tmp_path_factory.mktemp("home")))


@pytest.mark.parametrize(("text", "language", "expected"), [
    ("I deploy with k8s and Postgres", "en", ("entity://tech/kubernetes", "entity://tech/postgres")),
    ("yesterday I met Anna Schmidt in new york", "en", ("entity://name/anna-schmidt", "entity://place/new-york")),
    ("Yesterday was fine. Nobody came.", "en", ()),
    ("we wrote it in C++, not in C#", "en", ("entity://tech/c++", "entity://tech/c#")),
    ("ask @mira.k or see https://www.Example.org/a?b=c", "en", ("entity://handle/mira.k", "entity://site/example.org")),
    ("Das Haus und der Garten", "de", ()),
    ("Gestern war ich bei Anna Müller", "de", ("entity://name/anna-müller",)),
    ("dün Ayşe'nin evindeydim", "tr", ("entity://name/ayşe",)),
    ("On Monday I saw Alice's cat", "en", ("entity://name/alice",)),
    ("Since then, I've slept and I'm fine, on Monday's trip too", "en", ()),
    ("Yeah Mel, see you Tues", "en", ("entity://name/mel",)),
    ("I met Siobhan O'Brien's aunt", "en", ("entity://name/siobhan-o-brien",)),
])  # fmt: skip
def test_names_known_and_unknown_are_found(text, language, expected, gazetteer):
    assert extract_entities(text, gazetteer, language) == expected


def test_an_e_mail_address_is_no_entity(gazetteer):
    assert extract_entities("write to ada.lovelace@Example.com please", gazetteer, "en") == ()


def test_a_mention_counts_once_and_there_is_a_limit(gazetteer):
    text = "with " + " and with ".join(f"Name{letter}x" for letter in "abcdefghijkl") + " and with Nameax"
    found = extract_entities(text, gazetteer, "en")
    assert len(found) == MAX_ENTITIES == len(set(found))


@given(st.text(max_size=200))
def test_any_text_gives_at_most_eight_well_formed_uris(text):
    found = extract_entities(text, Gazetteer({"python": "entity://tech/python"}, frozenset()))
    assert len(found) <= MAX_ENTITIES
    assert all(uri.startswith("entity://") and not any(letter.isspace() for letter in uri) for uri in found)


def test_a_gazetteer_of_another_form_is_refused_by_its_path(tmp_path):
    home = Home(tmp_path)
    home.config.mkdir()
    (home.config / "entities.yaml").write_text("- python")
    with pytest.raises(ConfigurationInvalid, match=r"entities\.yaml"):
        load_gazetteer(home)


@pytest.mark.parametrize("text", ["a" * 1_000_000, "a." * 500_000, "a@" * 500_000, "Anna " * 200_000, "." * 1_000_000])
def test_a_message_of_a_million_characters_is_read_in_time_that_grows_with_its_length(text, gazetteer):
    assert len(extract_entities(text, gazetteer, "en")) <= 1


def test_a_fact_key_knows_no_case_punctuation_or_width():
    assert normalise_fact_key("  I LIVE, in “Rome”!! ") == normalise_fact_key("i live in ｒｏｍｅ") == "i live in rome"


@given(st.text(max_size=400))
def test_a_fact_key_normalised_again_is_the_same(text):
    key = normalise_fact_key(text)
    assert len(key) <= MAX_LENGTH
    assert normalise_fact_key(key) == key

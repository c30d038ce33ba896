"""Texts of the items' own sentences, in any language."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.gate.statement import Known
from aico_memory.domain.retrieval.tokens import query_tokens
from aico_memory.domain.sleep.clusters import Piece, clusters
from aico_memory.domain.sleep.extracting import Extract, closed, display_name, extract, sentences
from aico_memory.settings.knowledge import KnowledgeSettings
from tests.support.memory_items import DAY, START, item


def words_of(text: str) -> frozenset[str]:
    return frozenset(query_tokens(text, ("en",), frozenset({"the", "a", "we", "was", "has"})))


def piece(number: int, text: str, **fields: Any) -> Piece:
    return Piece(Known(item(number, text, START + number * DAY, **fields)), words_of(text))


def extracted(*texts: str, sentences_: int = 12, characters: int = 800, title: str = "") -> Extract:
    return extract([piece(number, text) for number, text in enumerate(texts, 1)], words_of, sentences_, characters, title)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("We met. It rained!", ["We met.", "It rained!"]),
        ("Dr. Smith said no. 5 is free.", ["Dr. Smith said no.", "5 is free."]),
        ("Am 3. Mai war es kalt.", ["Am 3. Mai war es kalt."]),
        ("我住在北京。我喜欢茶。", ["我住在北京。", "我喜欢茶。"]),
        ("no mark at all", ["no mark at all"]),
        ("Hava güzel. Yürüdük mü? Evet.", ["Hava güzel.", "Yürüdük mü?", "Evet."]),
        ("", []),
    ],
)
def test_sentences_end_where_they_end(text: str, found: list[str]) -> None:
    assert sentences(text) == found


def test_what_has_no_end_is_closed_as_its_script_closes() -> None:
    assert [closed(one) for one in ("It rained", "It rained!", "他喜欢茶", 'He said "no."')] == [
        "It rained.", "It rained!", "他喜欢茶。", 'He said "no."',
    ]  # fmt: skip


def test_the_same_sentence_is_told_once_and_stands_for_all_who_said_it() -> None:
    told = extracted("It rained", "it rained.", "We went home. It rained")
    assert told.text == "It rained. We went home."
    assert len(told.sources) == len(told.whole) == 3


def test_where_not_all_fits_what_most_items_share_is_told_first() -> None:
    told = extracted(
        "The boat needs new sails", "The boat has a leak", "We sold the boat", "Lunch was late",
        sentences_=2, characters=60,
    )  # fmt: skip
    assert "Lunch" not in told.text and told.text.count("boat") == 2
    assert len(told.sources) == 2 and set(told.whole) == set(told.sources)


def test_an_item_of_which_a_sentence_is_left_out_is_not_told_whole() -> None:
    told = extracted("We sailed to Rhodes. The harbour was full of very expensive yachts from everywhere.", characters=50)
    assert told.text == "We sailed to Rhodes." and told.sources and not told.whole


def test_names_stand_as_the_texts_write_them() -> None:
    assert display_name("entity://org/acme-corp", ["We visited ACME Corp today"]) == "ACME Corp"
    assert display_name("entity://person/jane-doe", ["nobody"]) == "jane doe"


TEXTS = st.lists(st.text(st.sampled_from("abc .!?。北"), min_size=1, max_size=40).filter(str.strip), min_size=1, max_size=12)


@given(TEXTS, st.integers(1, 6), st.integers(20, 120))
def test_no_text_is_longer_than_allowed_and_nothing_is_made_up(texts: list[str], most: int, characters: int) -> None:
    told = extracted(*texts, sentences_=most, characters=characters)
    assert len(told.text) <= characters
    every = {closed(one) for text in texts for one in sentences(text)}
    assert sum(len(one) for one in every if one in told.text) >= len(told.text.replace(" ", "")) * 0.5
    assert set(told.whole) <= set(told.sources)
    assert extracted(*texts, sentences_=most, characters=characters).text == told.text


@given(
    st.lists(
        st.tuples(st.sampled_from(["e1", "e2", "e3", ""]), st.sampled_from(["fact", "plan"]), st.floats(0, 1)), max_size=30
    )
)
def test_clusters_never_share_an_item_and_do_not_depend_on_order(given_items: list[tuple[str, str, float]]) -> None:
    figures = KnowledgeSettings()
    pieces = [
        piece(number, "tea time again", entities=(uri,) if uri else (), kind=kind, importance=importance)
        for number, (uri, kind, importance) in enumerate(given_items, 1)
    ]
    found = clusters(pieces, figures)
    members = [one.memory.memory_id for cluster in found for one in cluster.pieces]
    assert len(members) == len(set(members))
    assert all(len(cluster.pieces) >= figures.cluster_members for cluster in found)
    for cluster in found:
        if cluster.rule == "alike":
            leader = cluster.pieces[0].memory
            assert all(one.memory.kind == leader.kind for one in cluster.pieces)
            assert all(abs(one.memory.importance - leader.importance) <= 0.3 + 1e-6 for one in cluster.pieces)
        else:
            assert all(cluster.entity in one.memory.entities for one in cluster.pieces)
    again = clusters(pieces[::-1], figures)
    assert [(one.name, one.pieces) for one in again] == [(one.name, one.pieces) for one in found]


@pytest.mark.parametrize("numbers", [(1, 2, 3), (3, 2, 1), (2, 3, 1)])
def test_what_one_message_said_is_told_in_one_order_whatever_its_ids(numbers: tuple[int, int, int]) -> None:
    texts = ("Kiko is a beagle", "User walks Kiko", "User's dog is Kiko")
    kiko = ("entity:kiko",)
    pieces = [
        Piece(Known(item(number, text, START, entities=kiko)), words_of(text))
        for number, text in zip(numbers, texts, strict=True)
    ]
    (cluster,) = clusters(pieces, KnowledgeSettings())
    assert [one.memory.text for one in cluster.pieces] == list(texts)
    assert extract(pieces, words_of, 12, 800, "").text == "Kiko is a beagle. User walks Kiko. User's dog is Kiko."

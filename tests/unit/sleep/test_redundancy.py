"""When two items say the same: never by their vectors alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.gate.statement import Known
from aico_memory.domain.memory import Memory
from aico_memory.domain.sleep.redundancy import Wording, close_pairs, compared_words, merges, same, wording_of
from aico_memory.models.sleep_tables import load_sleep_words
from aico_memory.paths import find_home
from tests.support.memory_items import DAY, START, item
from tests.support.near_sentences import DIFFERENT, SAME

WORDS = load_sleep_words(find_home())


def wording(memory: Memory) -> Wording:
    known = WORDS[memory.language]
    return wording_of(compared_words(memory.text, memory.language), known.empty, known.tells_time)


def known(number: int, text: str, language: str = "en", **fields: Any) -> Known:
    reading = {name: fields.pop(name) for name in ("subject", "predicate", "object_key") if name in fields}
    return Known(item(number, text, language=language, **fields), **reading)


def one_thing(left: Known, right: Known) -> bool:
    assert same(left, right, wording) == same(right, left, wording)
    return same(left, right, wording)


@pytest.mark.parametrize(("language", "left", "right"), SAME)
def test_what_differs_in_nothing_that_means_anything_is_one(language: str, left: str, right: str) -> None:
    assert one_thing(known(1, left, language), known(2, right, language))


@pytest.mark.parametrize(("language", "left", "right"), DIFFERENT)
def test_what_differs_in_one_word_that_means_something_is_two(language: str, left: str, right: str) -> None:
    assert not one_thing(known(1, left, language), known(2, right, language))


def test_the_same_words_are_two_things_under_other_readings_kinds_owners_or_days() -> None:
    first = known(1, "User likes it", subject="user", predicate="likes", object_key="tea")
    assert one_thing(first, known(2, "User likes it"))
    assert not one_thing(first, known(2, "User likes it", subject="user", predicate="likes", object_key="coffee"))
    assert not one_thing(first, known(2, "User likes it", kind="preference"))
    assert not one_thing(first, known(2, "User likes it", owner="ben"))
    assert not one_thing(
        known(1, "Ran in the park", kind="episode"), known(2, "Ran in the park", kind="episode", at_us=START + DAY)
    )
    assert not one_thing(known(1, "Ran today"), known(2, "Ran today", at_us=START + DAY))


def test_anchors_flashbulbs_and_what_is_used_more_than_most_never_give_way() -> None:
    for fields in ({"pinned": True}, {"immutable": True}, {"flashbulb": True}, {"access_count": 3}):
        items = [known(1, "User likes tea", utility=0.1, **fields), known(2, "User likes the tea", utility=0.9)]
        found = merges(items, [(0, 1, 0.99)], wording, threshold=1.0)
        assert items[0].memory.memory_id not in [one.merged for one in found]


def test_a_reading_stays_where_the_other_has_none_and_chains_do_not_form() -> None:
    items = [
        known(1, "User likes tea", utility=0.1, subject="user", predicate="likes", object_key="tea"),
        known(2, "User likes the tea", utility=0.9), known(3, "user likes tea!", utility=0.5),
    ]  # fmt: skip
    found = merges(items, [(0, 1, 0.95), (1, 2, 0.96), (0, 2, 0.99)], wording, threshold=9.0)
    ids = [one.memory.memory_id for one in items]
    assert {(one.kept, one.merged) for one in found} == {(ids[0], ids[2]), (ids[0], ids[1])}


@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 2**31))
def test_all_ranges_together_look_at_every_pair_once(rows: int, block: int, seed: int) -> None:
    made = np.random.default_rng(seed).normal(size=(rows, 4)).astype(np.float32)
    vectors = made / np.linalg.norm(made, axis=1, keepdims=True)
    found = [pair for first in range(0, rows, block) for pair in close_pairs(vectors, first, min(first + block, rows), 0.5)]
    near = np.round(vectors @ vectors.T, 2)
    expected = {(i, j) for i in range(rows) for j in range(i + 1, rows) if near[i, j] > 0.5}
    assert {(i, j) for i, j, _ in found} == expected and len(found) == len(expected)

"""Conformance of the text index: FTS5 in an encrypted database, the inverted index in memory, and the twin."""

from itertools import islice

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aico_memory.domain.memory import Scope
from aico_memory.stores.index.bm25 import MemoryTextIndex
from aico_memory.stores.index.fts5 import Fts5TextIndex
from aico_memory.stores.index.memory_text import InvertedTextIndex
from aico_memory.stores.semantic.sql_store import MIGRATIONS
from aico_memory.stores.sql import Database

ADA, BEN = Scope("user", "ada"), Scope("user", "ben")


class Fts5:
    """The real index, each call in a transaction of its own."""

    def __init__(self, database):
        self.database = database

    def put(self, *arguments):
        with self.database.write() as connection:
            Fts5TextIndex(connection).put(*arguments)

    def remove(self, keys):
        with self.database.write() as connection:
            Fts5TextIndex(connection).remove(keys)

    def ranked(self, tokens, scopes):
        with self.database.read() as connection:
            yield from Fts5TextIndex(connection).ranked(tokens, scopes)

    def count(self):
        with self.database.read() as connection:
            return Fts5TextIndex(connection).count()


@pytest.fixture
def database(tmp_path):
    with Database.open(tmp_path / "store" / "text.db", bytes(range(32)), MIGRATIONS) as opened:
        yield opened


@pytest.fixture(params=["fts5", "inverted", "twin"])
def index(request, database):
    made = {"fts5": lambda: Fts5(database), "inverted": InvertedTextIndex, "twin": MemoryTextIndex}
    return made[request.param]()


def test_rare_words_weigh_more_than_frequent_ones(index):
    index.put(1, ADA, ["we", "walk", "home"])
    index.put(2, ADA, ["we", "drink", "tea"])
    index.put(3, ADA, ["we", "drink", "coffee"])
    index.put(4, ADA, ["we", "drink", "water"])
    assert [hit.key for hit in index.ranked(["drink", "tea"], [ADA])] == [2, 3, 4]


def test_a_short_text_beats_a_long_one_with_the_same_word(index):
    index.put(1, ADA, ["tea", *("word",) * 30])
    index.put(2, ADA, ["tea"])
    index.put(3, ADA, ["other"])
    index.put(4, ADA, ["another"])
    assert [hit.key for hit in index.ranked(["tea"], [ADA])] == [2, 1]


def test_no_scope_finds_the_words_of_another(index):
    index.put(1, ADA, ["tea"])
    index.put(2, BEN, ["tea"])
    assert [hit.key for hit in index.ranked(["tea"], [ADA])] == [1]
    assert [hit.key for hit in index.ranked(["tea"], [BEN])] == [2]
    assert {hit.key for hit in index.ranked(["tea"], [ADA, BEN])} == {1, 2}
    assert list(index.ranked(["tea"], [])) == []


def test_a_text_that_is_put_again_replaces_the_first(index):
    index.put(1, ADA, ["tea"])
    index.put(1, ADA, ["coffee"])
    assert list(index.ranked(["tea"], [ADA])) == []
    assert [hit.key for hit in index.ranked(["coffee"], [ADA])] == [1]
    assert index.count() == 1


def test_a_removed_text_is_found_no_more(index):
    index.put(1, ADA, ["tea"])
    index.put(2, ADA, ["tea"])
    index.remove([1, 99])
    assert [hit.key for hit in index.ranked(["tea"], [ADA])] == [2]
    assert index.count() == 1


@pytest.mark.parametrize("token", ["東京", "हिन्दी", "ışık", "or", "and", "near", "not", "scope", "words"])
def test_every_script_and_every_word_of_the_query_language_is_a_word(index, token):
    index.put(1, ADA, [token, "tea"])
    index.put(2, ADA, ["tea"])
    assert [hit.key for hit in index.ranked([token], [ADA])] == [1]


def test_only_as_much_is_read_as_is_wanted(index):
    for key in range(1, 200):
        index.put(key, ADA, ["tea"] if key % 2 else ["coffee"])
    assert [hit.key for hit in islice(index.ranked(["tea"], [ADA]), 3)] == [1, 3, 5]


texts = st.lists(st.tuples(st.sampled_from([ADA, BEN]), st.lists(st.sampled_from("abcdefgh"), max_size=8)), max_size=20)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stored=texts, asked=st.lists(st.sampled_from("abcdefgh"), max_size=4), scope=st.sampled_from([ADA, BEN]))
def test_the_twin_and_the_real_index_give_the_same_scores(database, stored, asked, scope):
    real, twin = Fts5(database), MemoryTextIndex()
    real.remove(range(1, 30))
    for key, (owner, words) in enumerate(stored, 1):
        real.put(key, owner, words)
        twin.put(key, owner, words)
    expected = list(twin.ranked(asked, [scope]))
    found = list(real.ranked(asked, [scope]))
    assert {hit.key for hit in found} == {hit.key for hit in expected}
    assert {stored[hit.key - 1][0] for hit in found} <= {scope}
    assert [hit.score for hit in found] == pytest.approx([hit.score for hit in expected], rel=1e-3, abs=1e-5)

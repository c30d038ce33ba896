"""The text index in memory where one question needs more than its bound."""

from __future__ import annotations

from collections.abc import Sequence

from aico_memory.domain.memory import Scope
from aico_memory.stores.index.memory_text import InMemoryText
from aico_memory.stores.index.scope_text import ScopeText
from tests.stores.index.test_memory_text import ADA, BEN, Truth, holding, memory, opened


def two_people() -> InMemoryText:
    """Texts of two people where there is room for none."""
    truth = Truth()
    truth.write(1, memory(1, "tea"))
    truth.write(2, memory(2, "tea", BEN))
    truth.most_reads = 20
    return opened(truth, cache_bytes=1)


def texts_in(found: Sequence[ScopeText]) -> list[int]:
    return [len(text) for text in found]


def test_the_scopes_of_one_question_stay_together_however_large_they_are() -> None:
    texts = two_people()
    assert texts.read([ADA, BEN, Scope("global", "global")], texts_in) == [1, 1, 0]
    assert texts.read([ADA, BEN], texts_in) == [1, 1]
    assert texts.status()["loads"] == 3
    assert holding(texts, "tea", BEN) == [2]
    assert texts.status()["scopes"] == 1


def test_a_scope_that_another_question_waits_for_is_not_pushed_out() -> None:
    texts = two_people()

    def look(found: Sequence[ScopeText]) -> list[int]:
        # While Ada's words are looked at, somebody asks Ben's and has them.
        return texts_in(found) + texts.read([BEN], texts_in) + texts_in(found)

    assert texts.read([ADA], look) == [1, 1, 1]
    assert texts.read([ADA], texts_in) == [1]
    assert texts.status()["loads"] == 2

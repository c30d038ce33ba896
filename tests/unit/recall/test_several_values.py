"""What may have several values is answered with all of them, whoever reads; who asks for one is told the last."""

from __future__ import annotations

import pytest

from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.recall.reading.trust import READ, RULES, SILENCE, Trust
from tests.support.reading import answered, finding

SURE = Trust({READ: {"one": 9.0}, RULES: {"one": -9.0}, SILENCE: {"one": -9.0}})


@pytest.mark.parametrize(
    ("language", "texts", "asked", "expected"),
    [
        ("en", ["I take aspirin.", "I take ibuprofen."], "Which medications do I take?", ["aspirin", "ibuprofen"]),
        ("en", ["I take aspirin.", "I take ibuprofen."], "What medication do I take?", ["aspirin", "ibuprofen"]),
        ("en", ["I love pizza.", "I love sushi."], "What food do I love?", ["pizza", "sushi"]),
        ("en", ["I like jazz.", "I like blues."], "What music do I like?", ["jazz", "blues"]),
        ("tr", ["Almanca konuşuyorum.", "Fransızca konuşuyorum."], "Hangi dili konuşuyorum?", ["Almanca", "Fransızca"]),
        ("en", ["I drink oolong tea.", "I drink green tea."], "Which tea do I drink now?", ["green"]),
        ("en", ["I take aspirin.", "I take ibuprofen."], "Which medication do I take now?", ["ibuprofen"]),
    ],
)
def test_a_noun_in_the_singular_asks_for_one_where_it_says_so(
    tables: FormationTables, language: str, texts: list[str], asked: str, expected: list[str]
) -> None:
    assert answered(tables, None, language, texts, asked).values == expected


@pytest.mark.parametrize(
    ("language", "texts", "read", "asked", "expected"),
    [
        ("en", ["I like tea.", "I like coffee.", "I like jazz."], "jazz", "What do I like?", ["tea", "coffee", "jazz"]),
        ("de", ["Ich mag Jazz.", "Ich mag Rock."], "Rock", "Was mag ich?", ["Jazz", "Rock"]),
        ("en", ["I collect stamps.", "I collect coins."], "coins", "What do I collect?", ["stamps", "coins"]),
        ("en", ["My friend is Tom.", "My friend is Anna."], "Anna", "Who are my friends?", ["Tom", "Anna"]),
        # What sort of thing is asked for, the rules do not know.
        ("en", ["I like tea.", "I like jazz."], "tea", "Which drinks do I like?", ["tea"]),
        ("en", ["I like tea.", "I like jazz."], "jazz", "What do I like now?", ["tea", "jazz"]),
        # Of what has one value only one holds.
        ("en", ["I live in Leeds.", "Graz was lovely."], "Graz", "Where do I live?", ["Graz"]),
    ],
)
def test_a_reader_that_finds_a_part_of_what_holds_leaves_the_rest_in(
    tables: FormationTables, language: str, texts: list[str], read: str, asked: str, expected: list[str]
) -> None:
    assert answered(tables, finding(read), language, texts, asked, trust=SURE).values == expected


def test_what_is_over_is_left_out(tables: FormationTables) -> None:
    texts = ["I like tea.", "I like coffee.", "I like jazz.", "I don't like coffee any more."]
    assert answered(tables, finding("jazz"), "en", texts, "What do I like?", trust=SURE).values == ["tea", "jazz"]

"""Marks of words: how they are written, what they do, and what their sentence does, in three languages."""

from __future__ import annotations

import pytest

from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.recall.reading.marks import (
    ALSO,
    ASKS,
    CAPITAL,
    CAPITALS,
    CORRECTS,
    DIGITS,
    LOWER,
    NEGATED_VERB,
    NEGATES,
    NO_ROLE,
    NOW,
    OPENS,
    PAST_VERB,
    RELATION,
    SILENT,
    SPEAKER,
    TAKES_BACK,
    TELLS,
    acts_of,
    role_of,
    sentences_of,
    shape_of,
)


@pytest.mark.parametrize(
    ("word", "opens", "shape"),
    [
        ("bike", True, LOWER), ("Bike", True, OPENS), ("Harlow's,", False, CAPITAL), ("DRK.", False, CAPITALS),
        ("27,50", False, DIGITS), ("9am", True, DIGITS), ("I", False, CAPITAL),
    ],
)  # fmt: skip
def test_how_a_word_is_written(word: str, opens: bool, shape: int) -> None:
    assert shape_of(word, opens) == shape


@pytest.mark.parametrize(
    ("language", "low", "role"),
    [
        ("en", "my", SPEAKER), ("en", "i've", SPEAKER), ("en", "sister", RELATION), ("en", "never", NEGATES),
        ("en", "also", ALSO), ("en", "now", NOW), ("en", "moved", PAST_VERB), ("en", "where", ASKS), ("en", "bicycle", NO_ROLE),
        ("de", "meine", SPEAKER), ("de", "schwester", RELATION), ("de", "nicht", NEGATES), ("de", "auch", ALSO),
        ("de", "jetzt", NOW), ("de", "wo", ASKS), ("de", "worms", NO_ROLE),
        ("tr", "benim", SPEAKER), ("tr", "oturuyorum", SPEAKER), ("tr", "kardeşim", SPEAKER), ("tr", "gitmiyor", NEGATED_VERB),
        ("tr", "gitti", PAST_VERB), ("tr", "nerede", ASKS),
    ],
)  # fmt: skip
def test_what_a_word_does(tables: FormationTables, language: str, low: str, role: int) -> None:
    assert role_of(low, tables.grammars[language]) == role


@pytest.mark.parametrize(
    ("language", "text", "act"),
    [
        ("en", "My bike is blue.", TELLS), ("en", "Sorry, I meant Thursday.", CORRECTS), ("en", "Is my bike blue?", SILENT),
        ("de", "Mein Rad ist blau.", TELLS), ("de", "Ist mein Rad blau?", SILENT),
        ("tr", "Bisikletim mavi.", TELLS), ("tr", "Bu hiç doğru değildi.", TAKES_BACK),
    ],
)  # fmt: skip
def test_what_a_sentence_does(tables: FormationTables, language: str, text: str, act: int) -> None:
    words = text.split()
    assert acts_of(words, tables.grammars[language]) == [act] * len(words)


def test_sentences_are_told_apart_by_their_ends() -> None:
    assert sentences_of(["Sunny", "today.", "Is", "it?", "yes"]) == [(0, 2), (2, 4), (4, 5)]
    assert sentences_of([]) == [(0, 0)]

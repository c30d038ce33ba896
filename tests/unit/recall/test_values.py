"""The value that words say: without the article, and in Turkish without the ending of case, which names may only look like."""

from __future__ import annotations

import numpy as np
import pytest

from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.recall.reading.passage import MARKS, Passage
from aico_memory.domain.recall.reading.picking import Run, value_in
from aico_memory.domain.recall.values import value_of


@pytest.mark.parametrize("name", ["Seda", "Melda", "Funda", "Hande", "Gülden", "Köfte", "hafta", "Kanada", "Skoda"])
def test_a_turkish_name_that_ends_like_a_case_stays_whole(tables: FormationTables, name: str) -> None:
    assert value_of([name], tables.grammars["tr"]) == name


@pytest.mark.parametrize(("word", "value"), [("Ankarada", "Ankara"), ("evden", "ev"), ("köftede", "köfte")])
def test_a_turkish_ending_of_case_is_cut_off(tables: FormationTables, word: str, value: str) -> None:
    assert value_of([word], tables.grammars["tr"]) == value


@pytest.mark.parametrize(
    ("language", "word", "value"),
    [
        ("tr", "Jedda'da", "Jedda"),
        ("tr", "Clotilde'ye", "Clotilde"),
        ("en", "Ankara'da", "Ankara"),
        ("tr", "Jeddada", "Jeddada"),
    ],
)
def test_of_a_name_with_its_ending_behind_an_apostrophe_only_that_is_cut_off(
    tables: FormationTables, language: str, word: str, value: str
) -> None:
    words = ("Nerede", word)
    passage = Passage(words, np.array([-1, 0]), np.zeros((2, len(MARKS)), dtype=np.int8), ())
    assert value_in(passage, Run(1, 1, 0.9), tables.grammars[language]) == value

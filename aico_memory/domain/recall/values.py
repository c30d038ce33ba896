"""The shortest phrase that words of a message say: without article, and in Turkish without the ending of case."""

from __future__ import annotations

from collections.abc import Sequence

from aico_memory.domain.formation.frames import shorten
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.turkish_words import split_case
from aico_memory.domain.formation.wording import lower_in
from aico_memory.domain.recall.segments import Word

# Words of one value.
_LONGEST = 6


def listed_values(words: Sequence[Word], grammar: Grammar, whole: bool = False) -> list[str]:
    """The values of a list, one for words without any; `whole`: none of them stands in a case."""
    values: list[list[str]] = [[]]
    for word in words:
        if word.low in grammar.words["listing"]:
            values.append([])
            continue
        values[-1].append(word.said)
        if word.closes:
            values.append([])
    return [value_of(part, grammar, whole) for part in values if part and len(part) <= _LONGEST]


def value_of(said: Sequence[str], grammar: Grammar, whole: bool = False) -> str:
    """The words of a value; `whole`: a word without an apostrophe is all of it, whatever it looks like ("Sude", "Vildan")."""
    words = list(said)
    if grammar.parser == "turkish" and words:
        last = words[-1]
        cased = "'" in last or not (whole or lower_in(last, grammar.code) in grammar.words["not_cased"])
        words[-1] = split_case(last)[1] if cased else last
    return shorten(" ".join(words), grammar)

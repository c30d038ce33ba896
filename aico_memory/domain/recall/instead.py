"""What a statement only names as what something takes the place of."""

from __future__ import annotations

from collections.abc import Sequence

from aico_memory.domain.formation.german_clauses import INSTEAD
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.recall.segments import Word


def put_aside(words: Sequence[Word], grammar: Grammar) -> frozenset[int]:
    """The places of "statt Max", in German: he is what is not asked for."""
    if grammar.parser != "german":
        return frozenset()
    found: set[int] = set()
    for at, word in enumerate(words):
        if word.low in INSTEAD:
            found.update(range(at, _end_of_it(at + 1, words, grammar)))
    return frozenset(found)


def _end_of_it(end: int, words: Sequence[Word], grammar: Grammar) -> int:
    beside = grammar.words["prepositions"] | grammar.words["determiners"] | grammar.words["possessives"]
    named = False
    for word in words[end:]:
        names = word.said[:1].isupper() or word.timed
        if not names and (named or word.low not in beside):
            break
        named = named or names
        end += 1
    return end

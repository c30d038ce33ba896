"""Likeness by words alone, for the few texts that no index holds."""

from __future__ import annotations

import re
from collections.abc import Set
from functools import lru_cache

from aico_memory.domain.retrieval.tokens import runs_of

_WORD = re.compile(r"[^\W_]+")
# Letters of a word that endings leave alone.
STEM = 4
# Texts whose words are remembered.
_KEPT = 4096


@lru_cache(_KEPT)
def folded_words(text: str) -> tuple[str, ...]:
    """The words of a text, folded; those of the same memories are asked for again and again."""
    return tuple(_WORD.findall(text.casefold()))


def word_stems(text: str, ignored: Set[str] = frozenset()) -> frozenset[str]:
    """The beginnings of a text's words, those in `ignored` (folded) left out; pairs of characters where a script does not
    space words, as lexical search has them.
    """
    return _stems(text, frozenset(ignored))


@lru_cache(_KEPT)
def _stems(text: str, ignored: frozenset[str]) -> frozenset[str]:
    found: set[str] = set()
    for word in folded_words(text):
        if word not in ignored:
            found.update(part[:STEM] for part in runs_of(word) if part not in ignored)
    return frozenset(found)


def share_of_words(query: str, text: str, ignored: Set[str] = frozenset()) -> float:
    """The share of the query's words that the text holds, 0..1; a query of ignored words alone is taken as it is."""
    asked = word_stems(query, ignored) or word_stems(query)
    return len(asked & word_stems(text)) / len(asked) if asked else 0.0

"""Words of one meaning: what a question calls one thing, a statement may have called another ("doctor", "GP")."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.turkish_phrases import own_noun
from aico_memory.domain.formation.turkish_words import genitive, harden, third_possessed
from aico_memory.domain.recall.matching import stems


@lru_cache(maxsize=16384)
def meant_by(word: str, grammar: Grammar) -> frozenset[str]:
    """Other words that may stand for a lower-case word of a question, as the language's file lists them."""
    index = _by_stem(grammar)
    found: set[str] = set()
    for stem in stems(word, grammar.code):
        found |= index.get(stem, frozenset())
    if grammar.parser == "turkish":
        # "kirası" and "kiramız" have other stems than "kira".
        bare = genitive(word) or word
        roots = [own_noun(bare, grammar)]
        if third_possessed(bare):
            # "kodu", "şifresi", "kitabı": kod, şifre, kitap.
            roots += [bare[:-1], harden(bare[:-1]), bare[:-2]]
        for root in roots:
            found |= grammar.thesaurus.get(root, frozenset())
    return frozenset(found)


@lru_cache(maxsize=8)
def _by_stem(grammar: Grammar) -> Mapping[str, frozenset[str]]:
    """The thesaurus by the stems of its words; a phrase of several may stand for another word, no word asks for it."""
    index: dict[str, frozenset[str]] = {}
    for word, others in grammar.thesaurus.items():
        own = stems(word, grammar.code)
        if len(own) == 1:
            index[next(iter(own))] = index.get(next(iter(own)), frozenset()) | others
    return index

"""Words of a question found again in what was said, in whatever form they stand there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.turkish_phrases import own_noun, verb_of
from aico_memory.domain.formation.turkish_words import genitive
from aico_memory.domain.recall.matching import covered, stems
from aico_memory.domain.recall.thesaurus import meant_by

_FOLDED = str.maketrans({"ä": "a", "ö": "o", "ü": "u", "ß": "s"})
# Consonants that soften before a vowel: kitap, kitabım.
_SOFT = str.maketrans({"b": "p", "c": "ç", "d": "t", "ğ": "k"})
# Letters that two forms of a German or Turkish word share at least, and that may stand behind them in either.
_SHARED, _GERMAN_END, _TURKISH_END = 4, 3, 8
_LEAST_ROOT = 3


# The words of a question meet those of a hundred messages.
@lru_cache(maxsize=65536)
def alike(one: str, other: str, grammar: Grammar) -> bool:
    """Whether the lower-case word `other` is a form of `one`, or of a word that may stand for it."""
    return is_form(one, other, grammar) or any(is_form(meant, other, grammar) for meant in meant_by(one, grammar))


def is_form(one: str, other: str, grammar: Grammar) -> bool:
    """Whether two lower-case words are forms of one."""
    if one == other:
        return True
    if grammar.parser == "turkish" and is_first_person(one, grammar) and not is_first_person(other, grammar):
        # "yazıyorum" is not answered by "yazıyor", nor "adresim" by "adresi".
        return False
    if not one or not other or one[0].translate(_FOLDED) != other[0].translate(_FOLDED):
        return _same_verb(one, other, grammar)
    if _alike(one, other, grammar.parser, grammar.code) or _same_verb(one, other, grammar):
        return True
    return grammar.parser == "turkish" and bool(root := _root(one, grammar)) and root == _root(other, grammar)


@lru_cache(maxsize=16384)
def _root(word: str, grammar: Grammar) -> str:
    """The noun of what is one's own ("kuşlarımızın", "kuşumuz": kuş)."""
    return re.sub("l[ae]r$", "", own_noun(genitive(word) or word, grammar))


def _same_verb(one: str, other: str, grammar: Grammar) -> bool:
    lemma = grammar.verbs.get(one)
    return lemma is not None and lemma == grammar.verbs.get(other)


def _alike(one: str, other: str, parser: str, code: str) -> bool:
    if parser == "turkish":
        left, right = one.replace("'", "").translate(_SOFT), other.replace("'", "").translate(_SOFT)
        shared, shorter = _shared(left, right), min(len(left), len(right))
        enough = shared >= _SHARED or (shared == shorter >= _LEAST_ROOT)
        return enough and len(left) - shared <= _TURKISH_END and len(right) - shared <= _TURKISH_END and 2 * shared >= shorter
    left, right = one.removesuffix("'s"), other.removesuffix("'s")
    if left == right or (stems(left, code) and stems(left, code) == stems(right, code)):
        return True
    if parser == "german":
        left, right = left.translate(_FOLDED), right.translate(_FOLDED)
        shared = _shared(left, right)
        # A name in the genitive ("Oles") is no longer than that; other words end in more ways.
        return (shared > _SHARED and max(len(left), len(right)) - shared <= _GERMAN_END) or (
            shared >= _LEAST_ROOT and {left, right} == {left[:shared], f"{left[:shared]}s"}
        )
    return False


def _shared(one: str, other: str) -> int:
    """Letters that both begin with."""
    return next(
        (at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right), min(len(one), len(other))
    )


@lru_cache(maxsize=16384)
def is_first_person(word: str, grammar: Grammar) -> bool:
    """Whether a lower-case word says that it is the speaker's ("my", "wir"; in Turkish "kulübümüz", "yazıyorum")."""
    if word in grammar.words["speaker"] or word in grammar.words["own"]:
        return True
    if grammar.parser != "turkish":
        return False
    verb = verb_of(word, grammar)
    return verb.first_person if verb is not None else bool(own_noun(genitive(word) or word, grammar))


def any_alike(keys: Iterable[str], word: str, grammar: Grammar) -> bool:
    """Whether a lower-case word is a form of one of these."""
    return any(alike(key, word, grammar) for key in keys)


def called(noun: str, words: Iterable[str], others: Iterable[str], grammar: Grammar) -> bool:
    """Whether a Turkish question has each word of a noun, or another word for it, in whatever form."""
    return grammar.parser == "turkish" and all(
        covered([word], words, grammar.code) or any(is_form(other, word, grammar) for other in others) for word in noun.split()
    )

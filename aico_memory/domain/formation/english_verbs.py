"""What verb comes next in an English clause, behind adverbs and negation."""

from __future__ import annotations

from aico_memory.domain.formation.grammar import Grammar


def _next(following: list[str], grammar: Grammar) -> str:
    for word in following:
        if word not in grammar.words["adverbs"] and word not in ("not", "never", "n't"):
            return word
    return ""


def comes(following: list[str], grammar: Grammar, tense: str) -> bool:
    word = _next(following, grammar)
    return grammar.tenses.get(word) == tense


def comes_verb(following: list[str], grammar: Grammar) -> bool:
    word = _next(following, grammar)
    return grammar.tenses.get(word) in ("infinitive", "present") or word in ("be", "have", "do")


def comes_participle(following: list[str], grammar: Grammar) -> bool:
    word = _next(following, grammar)
    return (
        word in {"been", "had"}
        or grammar.tenses.get(word) in ("past", "participle")
        or word in grammar.words["participles"]
        or (word.endswith("ed") and len(word) > 4)
    )

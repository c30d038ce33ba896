"""Whom a German clause is said of: the noun phrase before its verb, or behind it."""

from __future__ import annotations

from aico_memory.domain.formation.frames import Frame, Party
from aico_memory.domain.formation.german_names import without_object
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.parties import NOBODY, read_party
from aico_memory.domain.formation.wording import COMMA, lower

_OPENS = frozenset({"die", "der", "das", "unser", "unsere"})


def subject_of(
    front: list[str], middle: list[str], lemma: str, grammar: Grammar, party: Party | None, before: Frame | None,
    subordinate: bool,
) -> tuple[Party | None, list[str]]:  # fmt: skip
    """The subject among the words before and behind the verb, and the words without it."""
    if subordinate:
        length = noun_phrase(front, grammar)
        return (read_party(" ".join(front[:length]), grammar, party) if length else None), front[length:] + middle
    pronoun_first = bool(front) and lower(front[0]) in grammar.words["subjects"] and len(front) == 1
    article = len(middle) > 1 and lower(middle[0]) == "das" and middle[1][:1].isupper()
    if middle and lower(middle[0]) in grammar.words["subjects"] and not pronoun_first and not article:
        return read_party(middle[0], grammar, party), front + middle[1:]
    if front:
        low = lower(front[0])
        if len(front) > 2 and [lower(word) for word in front[-2:]] == ["und", "ich"]:
            # "Tom und ich haben geheiratet".
            return Party(), ["mit", *front[:-2], *middle]
        if low in grammar.words["subjects"] and (len(front) == 1 or not front[1][:1].isupper()):
            return read_party(front[0], grammar, party), front[1:] + middle
        if COMMA in front:
            # "Vergiss das alte Passwort, jetzt gilt …": two clauses, of which one has no verb that is known.
            return NOBODY, middle
        if low not in grammar.words["prepositions"]:
            return read_party(" ".join(front), grammar, party), middle
    length = without_object(middle, noun_phrase(middle, grammar), lemma, grammar)
    behind = middle[length:]
    if not length or not (front or (before is None and _opens_it(middle[0], behind, grammar))):
        return None, front + middle
    if _goes_on(behind, grammar):
        # "Im Team sind Ralf, Gerd und Ina": of one of them alone nothing is told.
        return NOBODY, front + behind
    return read_party(" ".join(middle[:length]), grammar, party), front + behind


def _opens_it(word: str, behind: list[str], grammar: Grammar) -> bool:
    """Whether a noun phrase right behind a verb that stands first is the subject."""
    low = lower(word)
    return low in grammar.words["possessives"] or low in _OPENS or (word[:1].isupper() and bool(behind))


def _goes_on(words: list[str], grammar: Grammar) -> bool:
    """Whether what is named goes on as a list (", Gerd und Ina")."""
    listing = grammar.words["listing"]
    listed = len(words) > 1 and (words[0] == COMMA or lower(words[0]) in listing) and words[1][:1].isupper()
    return listed and any(lower(word) in listing for word in words)


def noun_phrase(words: list[str], grammar: Grammar) -> int:
    """Words that make a noun phrase at the start: determiner, adjectives, noun, name."""
    if not words:
        return 0
    article = len(words) > 1 and lower(words[0]) == "das" and words[1][:1].isupper()
    if lower(words[0]) in grammar.words["subjects"] and not article:
        return 1
    at = 0
    if lower(words[0]) in grammar.words["possessives"] or lower(words[0]) in grammar.words["determiners"]:
        at = 1
        while at < len(words) - 1 and words[at][:1].islower() and words[at].endswith(("e", "en", "er", "es")):
            at += 1
    if at < len(words) and words[at][:1].isupper():
        relation = lower(words[at]) in grammar.relations or lower(words[at]) in grammar.words["titles"]
        at += 1
        while at < len(words) - 1 and lower(words[at]) in grammar.words["titles"] and words[at + 1][:1].isupper():
            # "Frau Dr. Behrens"
            at += 1
        if relation and at < len(words) and words[at][:1].isupper():
            at += 1
        return at
    return 0

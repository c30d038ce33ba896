"""Whether a question names what is kept under a noun: "my wifi password", "Lieblingstee", "kız kardeşimin adı"."""

from __future__ import annotations

import re

from aico_memory.domain.formation.formed import SPEAKER
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.recall.alike import called
from aico_memory.domain.recall.groups import Group, head_of
from aico_memory.domain.recall.matching import stems
from aico_memory.domain.recall.question import Question

# Lists of words that stand before a noun and tell it from no other.
_NO_NAMES = (
    "speaker",
    "pronouns",
    "possessives",
    "determiners",
    "prepositions",
    "adverbs",
    "openers",
    "empty",
    "own",
    "now",
    "asking",
)
# Somebody who was that to one once.
_FORMER = re.compile(r"\b(?:ex|eski)[- ](?=\w)|\b(?:former|divorced|ehemalig|früher|geschieden)")
# Letters of what a noun is compounded with, at least.
_LEAST_PART = 3


def noun_score(group: Group, question: Question, tables: FormationTables) -> float:
    """How strongly the question names what the group is kept under."""
    kind, _, noun = group.predicate.partition(":")
    if not noun:
        return verb_score(group, question, tables) if group.subject == SPEAKER else 0.0
    if kind == "attribute" and _FORMER.match(noun) and not _FORMER.search(question.text.casefold()):
        # Who the wife is, is not who the ex-wife is.
        return 0.0
    words = stems(noun, question.language)
    shared = words & question.meant
    if (words and words <= question.meant) or called(noun, question.words, question.others, tables.grammars[question.language]):
        return 1.5 + 0.5 * len(words)
    core = stems(head_of(noun, question.language, tables), question.language)
    if core and core <= question.meant and not _otherwise_named(noun, question, tables):
        return 1.4 + 0.5 * len(core)
    if noun in question.relations:
        return 2.0
    if _another_relation(noun, question, tables.grammars[question.language]):
        return 0.0
    tokens = [token for token in (*question.meant, *question.words) if len(token) > 3]
    if kind == "favourite" and any(word in token or token in word for word in words for token in tokens):
        # "Lieblingstee": a stemmer leaves no tea in it.
        return 1.6
    return 0.6 * len(shared) / max(1, len(words)) if shared else 0.0


def _another_relation(noun: str, question: Question, grammar: Grammar) -> bool:
    """ "Kız kardeş" is nobody whom "erkek kardeş" names."""
    last = noun.rsplit(maxsplit=1)[-1]
    return noun in grammar.relations and any(one != last and one.rsplit(maxsplit=1)[-1] == last for one in question.relations)


def verb_score(group: Group, question: Question, tables: FormationTables) -> float:
    """An open predicate is named by its verb; "not" of what is not eaten is none."""
    if ":" in group.predicate or group.held[0].fact.language != question.language or group.predicate in question.contrary:
        return 0.0
    verb = group.predicate.split("_")[0]
    if verb != group.predicate in tables.predicates and verb not in tables.grammars[question.language].verbs:
        return 0.0
    return 1.0 if stems(verb, question.language) & question.stems and verb not in question.predicates else 0.0


def another_thing(group: Group, question: Question, tables: FormationTables, alike: bool) -> bool:
    """Whether the question names a thing of the kind that is held, but another one: "my favourite colour" of a favourite tea.

    `alike`: whether the question and what is held are so like each other that one favourite may be the other in other words.
    """
    kind, _, noun = group.predicate.partition(":")
    if kind == "favourite":
        asked = question.text.casefold()
        favourite = any(word in asked for word in tables.grammars[question.language].words["favourites"])
        return favourite and not alike and not noun_score(group, question, tables)
    return bool(noun) and _otherwise_named(noun, question, tables)


def _otherwise_named(noun: str, question: Question, tables: FormationTables) -> bool:
    """Whether the question has words of its own before the head of the noun: an email password is not the wifi password."""
    grammar = tables.grammars[question.language]
    head = head_of(noun, question.language, tables).split()[-1].casefold()
    core = stems(head, question.language)
    words = [word.strip("?.,!'\"").casefold() for word in question.text.split()]
    for before, word in zip(["", *words], words, strict=False):
        if core and stems(word, question.language) == core:
            return _tells_apart(before, noun, grammar)
        part = word.removesuffix(head) if grammar.parser == "german" else word
        if part != word:
            return _tells_apart(part.rstrip("-"), noun, grammar)
    return False


def _tells_apart(word: str, noun: str, grammar: Grammar) -> bool:
    if len(word) < _LEAST_PART or any(word in grammar.words[name] for name in _NO_NAMES):
        return False
    return word[:_LEAST_PART] not in noun

"""Who does it, where a Turkish clause begins with something else: with whom ("iki arkadaşıyla …"), or with the object."""

from __future__ import annotations

import re
from collections.abc import Sequence

from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.turkish_phrases import known_verbs, low_tr, own_noun
from aico_memory.domain.formation.turkish_words import maybe_cases, read_verb

# "arkadaşıyla", "kuzeniyle", "halamla"
_WITH = re.compile(r"^(?P<who>.{2,}?)y?l[ae]$")
_OF_SOMEBODY = re.compile(r"(?:l[ae]r[ıi]|s?[ıiuü])$")
# Words in which those with whom something is done are named.
_MOST = 4


def companions(words: Sequence[str], grammar: Grammar) -> int:
    """How many words at the start only tell with whom something is done, so that none of them does it."""
    for at, word in enumerate(words[:_MOST]):
        low = low_tr(word)
        if (found := _WITH.match(low)) and _is_somebody(found["who"], grammar):
            return at + 1
        counted = low.isdigit() or low in grammar.calendar.numbers
        if not (counted or low in grammar.words["determiners"] or low in grammar.words["qualities"]):
            break
    return 0


def _is_somebody(who: str, grammar: Grammar) -> bool:
    bare = _OF_SOMEBODY.sub("", who)
    return own_noun(who, grammar) in grammar.relations or (bare != who and bare in grammar.relations)


def in_order(words: list[str], grammar: Grammar) -> list[str]:
    """The words with who does it first, and with whom in small letters: no part of the name behind it ("Eşimle Datça'da …")."""
    words = _subject_first(words, grammar)
    together = companions(words, grammar) and "'" not in words[0]
    return [low_tr(words[0]), *words[1:]] if together else words


def _subject_first(words: list[str], grammar: Grammar) -> list[str]:
    """ "Koroyu Feride yönetiyor": who does it before what it is done to; any other clause as it is."""
    if len(words) < 3:
        return words
    verb = read_verb(low_tr(words[-1]), known_verbs(grammar))
    if verb is None or verb.first_person or verb.lemma not in grammar.words["leads"] | grammar.words["takes_over"]:
        return words
    end = next((at for at, word in enumerate(words) if at and word[:1].isupper()), 0)
    who = words[end:-1]
    titles = all(word[:1].isupper() or low_tr(word) in grammar.words["titles"] for word in who)
    thing = words[:end]
    if not who or not titles or any("'" in word for word in who) or any(word[:1].isupper() for word in thing[1:]):
        return words
    if not any(case == "@i" for case, _ in maybe_cases(thing[-1])):
        return words
    return [*who, *(word if "'" in word else low_tr(word) for word in thing), words[-1]]

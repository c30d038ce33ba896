"""Whether a thing was spoken of without saying whose it is: "The budget is 500 euros", and not "My budget"."""

from __future__ import annotations

import re

from aico_memory.domain.formation.formed import SPEAKER, FormedFact
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.wording import lower_in, sentences

_PREFIX = "attribute:"
_WORDS = re.compile(r"\w+")
# "bütçem", "bütçemiz", "evim": what the Turkish noun ends in where it is the speaker's.
_TURKISH_OWN = re.compile(r"[ıiuü]?m(?:[ıiuü]z)?(?:\b|[a-zçğıöşü]{1,4}\b)")


def said_of_a_thing(fact: FormedFact, text: str, grammar: Grammar) -> str:
    """The sentence of `text` that told the fact, where it names neither the speaker nor an owner; empty otherwise.

    Among several people such a thing is that of all of them. Only readings of a thing's attribute can be: what one
    is, does or likes is the speaker's, also where a language leaves the pronoun out.
    """
    if fact.subject != SPEAKER or not fact.predicate.startswith(_PREFIX) or not fact.value:
        return ""
    thing, value = fact.predicate.removeprefix(_PREFIX), lower_in(fact.value, grammar.code)
    for sentence in sentences(text):
        low = lower_in(sentence, grammar.code)
        if value not in low or not _names(thing, low):
            continue
        spoken = set(_WORDS.findall(low))
        owned = spoken & (grammar.words["speaker"] | grammar.words["own"]) or (grammar.code == "tr" and _turkish(thing, spoken))
        return "" if owned else sentence
    return ""


def _names(thing: str, low: str) -> bool:
    """Whether the sentence names the thing itself; a noun whose stem changes is taken for the speaker's."""
    return thing.rsplit(maxsplit=1)[-1] in low


def _turkish(thing: str, spoken: set[str]) -> bool:
    stem = thing.rsplit(maxsplit=1)[-1]
    return any(word.startswith(stem) and _TURKISH_OWN.match(word[len(stem) :]) for word in spoken)

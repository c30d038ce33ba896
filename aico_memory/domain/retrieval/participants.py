"""Who takes part in a conversation, and what their names are worth in a question.

A name of somebody who takes part pulls a sentence vector towards every turn that greets them;
what the question asks is better found without it. As a word, a name tells turns apart the more
people there are: between two it says nothing, since each speaks to the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Set

from aico_memory.domain.context.each_named import NOUN_CAPITALS
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.retrieval.tokens import fold, words

# "Ada's", "Adas", "Ali'nin", "Ayşe’ye": what may hang on a name.
_TAIL = r"(?:['’ʼ]\w{1,5}|s)?"
_PARTS = re.compile(r"[^\W\d_][\w.-]*")
_LEAST_LETTERS = 2
# A word with a capital that is not the first.
_NAME = re.compile(r"(?<=\s)[^\W\d_a-z][^\W\d_]+(?:'s)?")
_CASELESS = re.compile("[\u0590-\u06ff\u0900-\u0dff\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def name_parts(names: Iterable[str], common: Set[str] = frozenset()) -> tuple[str, ...]:
    """Every full name and each word of it, longest first; words in `common` are no names by themselves."""
    found: dict[str, None] = {}
    for name in names:
        flat = " ".join(name.split())
        parts = _PARTS.findall(flat)
        for part in (flat, *(part for part in parts if fold(part) not in common)):
            if len(part) >= _LEAST_LETTERS or _CASELESS.match(part):
                found.setdefault(part)
    return tuple(sorted(found, key=lambda part: (-len(part), part)))


def without_names(text: str, parts: Iterable[str]) -> str:
    """The text with every mention of these names taken out; the text itself where nothing else would be left."""
    left = text
    for part in parts:
        if _CASELESS.search(part):
            left = left.replace(part, " ")
        else:
            left = re.sub(rf"(?<!\w){re.escape(part)}{_TAIL}(?!\w)", " ", left, flags=re.IGNORECASE)
    left = " ".join(left.split())
    return left if any(letter.isalnum() for letter in left) else text


def people_named(question: str, grammar: Grammar, speakers: Iterable[str]) -> frozenset[str]:
    """Whom the question asks about, by folded names; nobody where it asks of the one who asks ("Where do I live, Max?").

    In a language that writes every noun with a capital only the words of `speakers`, of names of those who were heard.
    """
    own = (grammar.words["speaker"] & grammar.words["pronouns"]) | grammar.words["own"]
    if not own.isdisjoint(words(question)):
        return frozenset()
    named = frozenset(word.casefold().removesuffix("'s") for word in _NAME.findall(question))
    return named & frozenset(speakers) if grammar.code in NOUN_CAPITALS else named


def name_weight(participants: int) -> float:
    """What a participant's name is worth as a word, 0..1: nothing between two, nearly all in a crowd."""
    return max(0.0, 1.0 - 2.0 / participants) if participants else 1.0

"""When a guess of the language is good enough to act on."""

from __future__ import annotations

import re
from collections.abc import Sequence

from aico_memory.domain.formation.language import LanguageTable, guess_language

LEAST_HITS = 2
LEAST_SHARE = 0.4
_WORD = re.compile(r"[^\W\d_]+")


def certain_language(text: str, table: LanguageTable) -> str:
    """The guess where a script of its own or enough function words speak for it, else an empty text.

    One short word shared by many languages ("a", "et") must not send a text to the wrong tables.
    """
    guess = guess_language(text, table)
    if not guess or (not text.isascii() and not _mostly_latin(text)):
        return guess
    words = {word.casefold() for word in _WORD.findall(text)}
    hits = sum(word in table.function_words.get(guess, frozenset()) for word in words)
    return guess if hits >= LEAST_HITS or (words and hits / len(words) >= LEAST_SHARE) else ""


def is_foreign(text: str, spoken: Sequence[str], table: LanguageTable) -> bool:
    """Whether a model of these languages (empty: every language) does not speak the text's; in doubt it does."""
    language = certain_language(text, table)
    return bool(spoken) and bool(language) and language not in spoken


def _mostly_latin(text: str) -> bool:
    letters = [letter for letter in text if letter.isalpha()]
    return sum(letter < "\u0250" for letter in letters) * 2 > len(letters)

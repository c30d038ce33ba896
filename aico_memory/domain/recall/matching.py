"""Whether two phrases name the same thing, by their stems."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from aico_memory.domain.retrieval.tokens import index_tokens

# What "the old one" is called beside its own name.
LEAST_STEM = 3
# Letters of a word that a longer one may be cut to.
_CLIPPED = 5


def covered(words: Iterable[str], text_words: Iterable[str], language: str) -> bool:
    """Whether every word is in the text, whatever stands behind it: for languages that put everything behind."""
    if language != "tr":
        return False
    said = list(text_words)
    found = [any(_begins(word, one) for one in said) for word in words]
    return bool(found) and all(found)


def _begins(word: str, said: str) -> bool:
    # köpek, köpeğim; ad, adı.
    root = word[:-1] if len(word) > 3 and word[-1] in "kçptıiuü" else word
    return len(root) > 1 and said.startswith(root) and len(said) - len(root) <= 9


@lru_cache(maxsize=16384)
def stems(text: str, language: str) -> frozenset[str]:
    """Stems of the words of a text under its language."""
    return frozenset(index_tokens(text.replace("-", " "), language))


def equal_object(one: str, other: str, language: str = "") -> bool:
    """The same words in whatever form ("the kitchens", "kitchen")."""
    return bool(one) and stems(one, language) == stems(other, language)


def same_head(one: str, other: str, language: str = "") -> bool:
    """Whether a thing is named by its last word alone ("toplantı" for "ekip toplantısı")."""
    left, right = one.split(), other.split()
    if language != "tr" or not left or not right or min(len(left), len(right)) > 1:
        return False
    short, long = sorted((left[-1], right[-1]), key=len)
    return long.startswith(short) and len(short) > 3 and len(long) - len(short) <= 4


def clipped(short: str, long: str) -> bool:
    """Whether a word is the beginning of a longer one ("Physio", "Physiotherapie")."""
    return len(short) >= _CLIPPED and long.startswith(short) and " " not in long


def same_object(one: str, other: str, language: str = "") -> bool:
    """Equal, or all words of one are among those of the other ("Skoda" and "blue Skoda")."""
    if not one or not other:
        return False
    if one == other:
        return True
    left, right = stems(one, language), stems(other, language)
    return bool(left) and bool(right) and (left <= right or right <= left)

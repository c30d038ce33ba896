"""Whether two phrases name the same thing, by their stems."""

from __future__ import annotations

from functools import lru_cache

from aico_memory.domain.retrieval.tokens import index_tokens

# What "the old one" is called beside its own name.
LEAST_STEM = 3


@lru_cache(maxsize=16384)
def stems(text: str, language: str) -> frozenset[str]:
    """Stems of the words of a text under its language."""
    return frozenset(index_tokens(text.replace("-", " "), language))


def same_object(one: str, other: str, language: str = "") -> bool:
    """Equal, or all words of one are among those of the other ("Skoda" and "blue Skoda")."""
    if not one or not other:
        return False
    if one == other:
        return True
    left, right = stems(one, language), stems(other, language)
    return bool(left) and bool(right) and (left <= right or right <= left)

"""The key under which two statements of the same thing meet."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

MAX_LENGTH = 128


@lru_cache(maxsize=8192)
def normalise_fact_key(text: str) -> str:
    """NFKC, case folded, punctuation and symbols stripped, whitespace collapsed, first 128 characters."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    kept = "".join(" " if unicodedata.category(letter)[0] in "PSZC" else letter for letter in folded)
    return " ".join(kept.split())[:MAX_LENGTH].rstrip()


def fact_key(subject: str, predicate: str, object_key: str, single_valued: bool) -> str:
    """(subject, predicate) for a single-valued predicate, with the object for one that accumulates.

    The parts are joined by a bar, which no normalised part holds, so that no two pairs share a key by accident.
    """
    parts = (subject, predicate) if single_valued else (subject, predicate, object_key)
    return "|".join(normalise_fact_key(part) for part in parts)

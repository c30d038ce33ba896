"""Two texts about the same thing put together: what is new is appended, no fact is dropped."""

from __future__ import annotations

import re
from typing import Final

from aico_memory.domain.formation.fact_key import normalise_fact_key

MAX_TEXT: Final = 500
# An end of a sentence or clause; not the point in a number, nor the one of an abbreviation within a word.
_BORDER: Final = re.compile(r"(?<=[.!?;])\s+")


def parts(text: str) -> tuple[str, ...]:
    """The statements of a text, as they stand."""
    return tuple(stripped for part in _BORDER.split(text) if (stripped := part.strip()))


def synthesise(old: str, new: str, limit: int = MAX_TEXT) -> str | None:
    """The old text with what is new behind it; None where that is longer than `limit`, so that both are kept apart.

    A part of one that says no more than a part of the other (its words stand in it
    side by side) is not repeated.
    """
    kept = list(parts(old))
    for part in parts(new):
        if any(_holds(one, part) for one in kept):
            continue
        place = next((place for place, one in enumerate(kept) if _holds(part, one)), None)
        if place is None:
            kept.append(part)
        else:
            kept[place] = part
            kept = [one for number, one in enumerate(kept) if number == place or not _holds(part, one)]
    joined = " ".join(_closed(part) if number + 1 < len(kept) else part for number, part in enumerate(kept))
    return joined if len(joined) <= limit else None


def _holds(whole: str, part: str) -> bool:
    return f" {_normalised(part)} " in f" {_normalised(whole)} "


def _normalised(text: str) -> str:
    # The key cuts at 128 characters; here every word counts.
    return " ".join(normalise_fact_key(word) for word in text.split() if normalise_fact_key(word))


def _closed(part: str) -> str:
    return part if part[-1] in ".!?;" else f"{part}."

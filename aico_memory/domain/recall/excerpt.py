"""What is shown of a text that answers: all of it, or of a long one what stands around the answer."""

from __future__ import annotations

import re

from aico_memory.domain.formation.wording import even, plain_letters
from aico_memory.domain.retrieval.budget import ELLIPSIS

# Of a word at an edge that is left out, so many letters at most.
_LONGEST_WORD = 40


def excerpt_around(text: str, value: str, longest: int) -> str:
    """At most `longest` characters of the text with the value among them, cut between words, where it is longer.

    Where the value does not stand in it as it was written, plain letters are shown; its beginning where it does not
    stand there either. A value that is as long as that itself is cut at its end.
    """
    if len(text) <= longest:
        return text
    shown, at = next(
        ((one, place) for one in (text, plain_letters(text), even(text)) if value and (place := _place(one, value)) >= 0),
        (text, 0),
    )
    # Two signs that something is left out have their place as well.
    room = longest - 2 * len(ELLIPSIS)
    start = max(0, min(at - (room - len(value)) // 2, len(shown) - room))
    start = min(start, at)
    end = min(len(shown), start + room)
    if start:
        start = next((one + 1 for one in range(start, min(at, start + _LONGEST_WORD)) if shown[one].isspace()), start)
    if end < len(shown):
        least = max(at + len(value), end - _LONGEST_WORD)
        end = next((one for one in range(end, least, -1) if shown[one].isspace()), end)
    return f"{ELLIPSIS if start else ''}{shown[start:end].strip()}{ELLIPSIS if end < len(shown) else ''}"


def _place(text: str, value: str) -> int:
    """Where the value stands as whole words, else at all; -1 where it does not."""
    whole = re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text)
    return whole.start() if whole else text.find(value)

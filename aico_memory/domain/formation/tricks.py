"""How a message is read where a trick is looked for: the same words in another spelling are the same trick."""

from __future__ import annotations

import re
import unicodedata

# Cyrillic and Greek letters that look like Latin ones, small, and what they are taken for beside a Latin letter.
_LOOKS = str.maketrans(
    {
        "а": "a", "в": "b", "е": "e", "һ": "h", "н": "h", "і": "i", "ј": "j", "к": "k", "м": "m", "о": "o", "р": "p",
        "ѕ": "s", "с": "c", "т": "t", "у": "y", "х": "x", "ԁ": "d", "ӏ": "l",
        "α": "a", "ε": "e", "η": "n", "ι": "i", "κ": "k", "ν": "v", "ο": "o", "ρ": "p", "τ": "t", "υ": "u", "χ": "x",
    }
)  # fmt: skip
_SIMILAR = "".join(map(chr, _LOOKS))
# A word of two scripts; a word that is all Russian or Greek is what it says.
_MIXED = re.compile(rf"[^\W\d_]*(?:[a-z][{_SIMILAR}]|[{_SIMILAR}][a-z])[^\W\d_]*")
_SPELLED = re.compile(r"(?<![^\W_])[^\W\d_]([.·_ -])[^\W\d_](?:\1[^\W\d_]){2,}(?![^\W_])")
_BETWEEN = re.compile(r"[.·_ -]")
_EMPHASIS = re.compile(r"[*~]+")
_GAPS = re.compile(r"[^\S\n]+")
_LINES = re.compile(r" ?\n\s*")


def undotted(text: str) -> str:
    """Small letters with every i alike: capitals say nothing of the dot, and many keyboards have no ı."""
    return text.lower().replace("i\u0307", "i").replace("ı", "i")


def unmasked(text: str) -> tuple[str, ...]:
    """A text as tricks are looked for in it: line by line, and all on one line where there are several.

    Small letters, plain ones for what looks like them, spelled-out words in one, single spaces, no emphasis. Patterns are
    compared with every i undotted (`undotted`).
    """
    text = undotted(unicodedata.normalize("NFKC", text))
    if not text.isascii():
        text = _MIXED.sub(lambda match: match.group().translate(_LOOKS), text)
    text = _LINES.sub("\n", _GAPS.sub(" ", _EMPHASIS.sub("", text))).strip()
    text = _SPELLED.sub(lambda match: _BETWEEN.sub("", match.group()), text)
    return (text, text.replace("\n", " ")) if "\n" in text else (text,)

"""Endings that plainer wordings of Turkish put behind what somebody said, as grammars write them: `+nIn`, `+'nA`, `+'ndA`."""

from __future__ import annotations

import re

_WRITTEN = re.compile(r"(?P<word>\w+)\+(?P<apart>'?)(?P<ending>nIn|nA|ndA)(?!\w)")
_HIGH = {"a": "ı", "ı": "ı", "e": "i", "i": "i", "o": "u", "u": "u", "ö": "ü", "ü": "ü"}
_BACK = frozenset("aıou")
_HARD = frozenset("fstkçşhp")


def in_harmony(text: str) -> str:
    """The text with such endings spelled: I and A as the vowel before them has it, n only behind a vowel, d as t behind
    what is hard ("salon+nIn" -> "salonun", "Bilkent+'ndA" -> "Bilkent'te")."""
    return _WRITTEN.sub(_spelled, text) if "+" in text else text


def _spelled(found: re.Match[str]) -> str:
    word, ending = found["word"], found["ending"]
    low = word.replace("I", "ı").replace("İ", "i").casefold()
    vowel = next((letter for letter in reversed(low) if letter in _HIGH), "e")
    if low[-1:] not in _HIGH:
        ending = ending.removeprefix("n")
    if low[-1:] in _HARD:
        ending = ending.replace("d", "t")
    ending = ending.replace("I", _HIGH[vowel]).replace("A", "a" if vowel in _BACK else "e")
    return f"{word}{found['apart']}{ending}"

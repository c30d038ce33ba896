"""Small readings of text that all languages share: even spelling, sentences, words."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_APOSTROPHES = str.maketrans(
    {"’": "'", "‘": "'", "ʼ": "'", "＇": "'", "`": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"'}
)
_PASTED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTED_LINE = re.compile(r"\s*(?:>|\|)")
_QUOTATION = re.compile(r'"[^"\n]*"')
# Words of a quotation that may still be a name or a title.
LONGEST_TITLE = 6
_SPACES = re.compile(r"\s+")
# Not after a number ("3. Mai", "10.30") nor after a short title ("Dr. Weber").
_SENTENCES = re.compile(
    r"(?<=[!?…;])\s+|(?<!\b[A-ZÄÖÜ])(?<!\b\d)(?<!\b\d\d)(?<!\bDr)(?<!\bSt)(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bca)\.\s+|\n+"
)
_DASHES = re.compile(r"\s+[-–—]+\s+|[–—]")
# Stands for a comma where words are taken apart one by one.
COMMA = "⸴"
_EDGES = ' \t,.;:!?…"()[]-–—*'


def even(text: str) -> str:
    """NFC, one kind of apostrophe and quotation mark; letters are otherwise as they were written."""
    return unicodedata.normalize("NFC", text).translate(_APOSTROPHES)


def own_words(text: str) -> str:
    """The text without what somebody else wrote: quoted lines, pasted code, and quotations too long for a title."""
    text = even(_PASTED.sub("\n", text))
    text = "\n".join(line for line in text.splitlines() if not _QUOTED_LINE.match(line))
    return _QUOTATION.sub(lambda match: match.group() if len(match.group().split()) <= LONGEST_TITLE else " ", text)


def lower(text: str) -> str:
    """Lower case of the same length, so that places in it are places in the text."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(letter.lower()[:1] or letter for letter in text)


@lru_cache(maxsize=1024)
def lower_in(text: str, language: str) -> str:
    """Lower case of the same length by the language's own alphabet (Turkish pairs I with ı)."""
    if language in ("tr", "az"):
        text = text.replace("I", "ı").replace("İ", "i")
    return lower(text)


def sentences(text: str) -> list[str]:
    """The sentences of a message, dashes read as commas, without their final stop but with a question mark."""
    found = []
    for line in _SENTENCES.split(_DASHES.sub(", ", even(text))):
        sentence = _SPACES.sub(" ", line).strip(" .;,")
        if sentence:
            found.append(sentence)
    return found


def trim(text: str) -> str:
    """Without spaces and punctuation at the edges."""
    return text.strip(_EDGES)


def first_of(text: str) -> str:
    """What stands before the first comma, save one between numbers."""
    return re.split(rf"\s*{COMMA}\s*|,\s+", text, maxsplit=1)[0]


def commas(text: str) -> str:
    """The text with its commas as they were written."""
    return re.sub(rf"\s*{COMMA}", ",", text).strip(" ,")


def squeeze(text: str) -> str:
    """Single spaces, none before a comma."""
    return _SPACES.sub(" ", text).replace(" ,", ",").strip()

"""Small readings of text that all languages share: even spelling, sentences, words."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_APOSTROPHES = str.maketrans(
    {"’": "'", "‘": "'", "ʼ": "'", "＇": "'", "`": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"'}
)
# Marks of direction, soft hyphens and what has no width; the joiner only beside a letter, since it also joins emoji.
_UNSEEN = re.compile("[\u00ad\u061c\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]|(?<=\\w)\u200d|\u200d(?=\\w)")
# Letters, digits and stops in full width, and letters as mathematics writes them.
_WIDE = re.compile("[\uff01\uff02\uff07\uff0c-\uff0e\uff10-\uff1b\uff1f\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d7ff]+")
_PASTED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTED_LINE = re.compile(r"\s*(?:>|\|)")
_QUOTATION = re.compile(r'"[^"\n]*"')
_SPOKEN = re.compile(r"\"(?:I|I'm|I've|we|ich|wir|ben|biz)\b", re.IGNORECASE)
# Words of a quotation that may still be a name or a title.
LONGEST_TITLE = 6
LONGEST_VALUE = 4
_SPACES = re.compile(r"\s+")
# What is read of a message, of one of its sentences, and of a run without a space (a link, a key, a slip of a finger): the
# rules look back and forth in these, and one message must not hold up everybody's. The record has all of it.
MOST_READ, LONGEST_SENTENCE, LONGEST_RUN, KEPT_OF_RUN = 20_000, 1_000, 200, 80
_GAPS = re.compile(r"[^\S\n]{2,}")
_EMPTY_LINES = re.compile(r" ?\n(?: ?\n){2,}")
# Scripts that do not space their words are left alone.
_ENDLESS = re.compile(rf"[^\s\u0e00-\u0e7f\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]{{{LONGEST_RUN},}}")
# Not after a number ("3. Mai", "10.30") nor after a short title ("Dr. Weber").
_SENTENCES = re.compile(
    r"(?<=[!?…;])\s+|(?<!\b[A-ZÄÖÜ])(?<!\b\d)(?<!\b\d\d)(?<!\bDr)(?<!\bSt)(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bca)\.\s+|\n+"
)
# The stop behind a number that does not open its line ("1. First of all").
_NUMBERED = re.compile(r"(?<=\w \d)\.\s+|(?<=\d\d)\.\s+|(?<=[^\W\d]\d)\.\s+")
_DASHES = re.compile(r"\s+[-–—]+\s+|[–—]")
# Stands for a comma where words are taken apart one by one.
COMMA = "⸴"
_CUT = re.compile(rf"\s*{COMMA}\s*|,\s+")
# Titles and initials, behind which people write a stop.
_SHORTENED = re.compile(r"\b(?P<short>Prof|Dr|Mr|Mrs|Ms|St|Hr|Fr|Av|Doç|[A-ZÄÖÜÇĞİŞ])(?= (?P<next>[A-ZÄÖÜÇĞİŞ]\w*))")
_EDGES = ' \t,.;:!?…"()[]-–—*'


def plain_letters(text: str) -> str:
    """The text as it is read: without characters that show nothing, letters in full width as their plain forms."""
    if text.isascii():
        return text
    return _WIDE.sub(lambda match: unicodedata.normalize("NFKC", match.group()), _UNSEEN.sub("", text))


def even(text: str) -> str:
    """NFC of plain letters, one kind of apostrophe and quotation mark; letters are otherwise as they were written."""
    return unicodedata.normalize("NFC", plain_letters(text)).translate(_APOSTROPHES)


def readable(text: str) -> str:
    """The beginning of a text in plain letters, what is endless in it shortened: gaps, empty lines, runs without a space."""
    text = _EMPTY_LINES.sub("\n\n", _GAPS.sub(" ", plain_letters(text[:MOST_READ])))
    return _ENDLESS.sub(lambda match: match.group()[:KEPT_OF_RUN], text)


def own_words(text: str) -> str:
    """The text without what somebody else wrote: quoted lines, pasted code, and quotations too long for a title."""
    text = even(_PASTED.sub("\n", text))
    text = "\n".join(line for line in text.splitlines() if not _QUOTED_LINE.match(line))
    return _QUOTATION.sub(lambda match: match.group() if _may_be_title(match.group()) else " ", text)


def _may_be_title(quoted: str) -> bool:
    """Whether what stands in quotation marks is a name; what begins with "I" is what somebody said."""
    return len(quoted.split()) <= LONGEST_TITLE and not _SPOKEN.match(quoted)


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


def sentences(text: str, openers: tuple[re.Pattern[str], ...] = ()) -> list[str]:
    """The sentences of a message, dashes read as commas, without their final stop but with a question mark.

    `openers` are what starts a sentence even behind a number with a stop ("… a Pixel 8. The number …").
    """
    found = []
    text = _DASHES.sub(", ", even(text))
    for match in reversed(list(_NUMBERED.finditer(text))) if openers else ():
        if any(opener.match(text, match.end()) for opener in openers):
            text = f"{text[: match.start()]}\n{text[match.end() :]}"
    for line in _SENTENCES.split(text):
        sentence = _SPACES.sub(" ", line).strip(" .;,")
        if len(sentence) > LONGEST_SENTENCE:
            sentence = sentence[:LONGEST_SENTENCE].rpartition(" ")[0]
        if sentence:
            found.append(sentence)
    return found


def trim(text: str) -> str:
    """Without spaces and punctuation at the edges."""
    return text.strip(_EDGES)


def with_stops(value: str, text: str) -> str:
    """A value with the stops behind titles and initials as the text has them ("Dr Kim" -> "Dr. Kim")."""
    return _SHORTENED.sub(lambda at: f"{at['short']}." if f"{at['short']}. {at['next']}" in text else at["short"], value)


def first_of(text: str) -> str:
    """What stands before the first comma, save one between numbers."""
    return _CUT.split(text, maxsplit=1)[0]


def is_value(text: str) -> bool:
    """Whether a few words are a value by themselves: a name or a number."""
    return len(text.split()) <= LONGEST_VALUE and (text[:1].isupper() or any(letter.isdigit() for letter in text))


_SHOUTED = re.compile(r"[!?]*![!?]*(?=\s|$)")


def calmly(text: str) -> str:
    """The text with its exclamations told plainly ("engaged!!!" -> "engaged.", "really?!" -> "really?")."""
    return _SHOUTED.sub(lambda match: "?" if "?" in match.group() else ".", text)


def commas(text: str) -> str:
    """The text with its commas as they were written."""
    return re.sub(rf"\s*{COMMA}", ",", text).strip(" ,")


def squeeze(text: str) -> str:
    """Single spaces, none before a comma."""
    return _SPACES.sub(" ", text).replace(" ,", ",").strip()

"""Guess of a text's language, by script and by function words; no model needed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

from aico_memory.domain.formation.wording import plain_letters

# Scripts that one language alone, or nearly, is written in; more specific ones first.
_SCRIPTS = (
    ("ja", re.compile("[\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9d]")),
    ("ko", re.compile("[\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3]")),
    ("zh", re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")),
    ("th", re.compile("[\u0e01-\u0e5b]")),
    ("he", re.compile("[\u05d0-\u05ea]")),
    ("ar", re.compile("[\u0620-\u06ff]")),
    ("el", re.compile("[\u0370-\u03ff]")),
    ("hi", re.compile("[\u0900-\u097f]")),
    ("ru", re.compile("[\u0400-\u04ff]")),
    ("hy", re.compile("[\u0531-\u0587]")),
    ("bn", re.compile("[\u0980-\u09ff]")),
    ("pa", re.compile("[\u0a00-\u0a7f]")),
    ("gu", re.compile("[\u0a80-\u0aff]")),
    ("or", re.compile("[\u0b00-\u0b7f]")),
    ("ta", re.compile("[\u0b80-\u0bff]")),
    ("te", re.compile("[\u0c00-\u0c7f]")),
    ("kn", re.compile("[\u0c80-\u0cff]")),
    ("ml", re.compile("[\u0d00-\u0d7f]")),
    ("si", re.compile("[\u0d80-\u0dff]")),
    ("lo", re.compile("[\u0e81-\u0eff]")),
    ("bo", re.compile("[\u0f00-\u0fff]")),
    ("my", re.compile("[\u1000-\u109f]")),
    ("ka", re.compile("[\u10a0-\u10ff\u1c90-\u1cbf\u2d00-\u2d2d]")),
    ("am", re.compile("[\u1200-\u139f]")),
    ("km", re.compile("[\u1780-\u17ff]")),
)
# Where none of these stands there is nothing to count; dashes and quotation marks stand in between.
_NOT_LATIN = re.compile("[\u0370-\u1dff\u2d00-\u2d2d\u3040-\ud7ff\uf900-\uffef]")
_UNSPACED = frozenset({"ja", "zh", "ko", "th", "lo", "my", "km", "bo"})
_WORD = re.compile(r"[^\W\d_]+")
_SAMPLE = 4000
_KANA_SHARE = 0.1
_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class LanguageTable:
    """What a language with Latin letters is known by: function words and letters of its own."""

    function_words: Mapping[str, frozenset[str]]
    letters: Mapping[str, frozenset[str]]
    # The languages of each function word.
    speakers: Mapping[str, tuple[str, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        speakers: dict[str, tuple[str, ...]] = {}
        for language, known in self.function_words.items():
            for word in known:
                speakers[word] = (*speakers.get(word, ()), language)
        object.__setattr__(self, "speakers", speakers)


def guess_language(text: str, table: LanguageTable) -> str:
    """ISO 639-1 code, or "" where nothing speaks for any language (a name, a number, one common word)."""
    sample = unicodedata.normalize("NFC", plain_letters(text[:_SAMPLE]))
    by_script = _by_script(sample)
    if by_script:
        return by_script
    words = [word.casefold().replace("i\u0307", "i") for word in _WORD.findall(sample)]
    if not words:
        return ""
    present = set("".join(words))
    scores = {language: float(len(present & table.letters.get(language, _NONE))) for language in table.function_words}
    for word in words:
        owners = table.speakers.get(word, ())
        for language in owners:
            # A word that several languages share says less about each.
            scores[language] += 2.0 / len(owners)
    ranked = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    if not ranked or ranked[0][1] <= 0 or (len(ranked) > 1 and ranked[1][1] == ranked[0][1]):
        return ""
    return ranked[0][0]


def _by_script(sample: str) -> str:
    if sample.isascii() or not _NOT_LATIN.search(sample):
        return ""
    letters = sum(letter.isalpha() for letter in sample)
    counts = {language: len(pattern.findall(sample)) for language, pattern in _SCRIPTS}
    # Japanese is written mostly in Han characters: some kana among them decide.
    if counts["ja"] and counts["ja"] >= _KANA_SHARE * (counts["ja"] + counts["zh"]):
        counts["ja"] += counts["zh"]
        counts["zh"] = 0
    language, most = max(counts.items(), key=lambda pair: pair[1])
    # A script that writes words without spaces says more per letter than Latin does.
    weight = 3 if language in _UNSPACED else 2
    return language if most and most * weight >= letters else ""

"""What is noticed about a message before anything is formed: filters, classes, density, emotion.

A filter never blocks the episodic record; it only says that the message makes no item, and why. Which filters hold items
back is configured (`write_path.observe.filters`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from aico_memory.domain.formation.tricks import unmasked
from aico_memory.domain.formation.wording import even, lower_in, readable
from aico_memory.settings.write_path import ObserveSettings

# The specification's figures, where nobody names others.
DEFAULTS = ObserveSettings()

_TAG = re.compile(r"</?[A-Za-z][\w:-]*(?:\s[^<>]*)?>")
_XML_BLOCK = re.compile(r"<([A-Za-z][\w:-]*)[^<>]*>.*?</\1>", re.DOTALL)
_BULLET = re.compile(r"^\s*(?:[-*•–]|\d+[.)])\s+|^\s*\*\*", re.MULTILINE)
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_CODE_LINE = re.compile(
    r"[{};]\s*$|^\s*(?:def|class|import|from|return|if|for|while|#include|public|private|const|let|var|fn|SELECT|INSERT)\b.*[:;({]|=>|==|\w+\([^)]*\)\s*[;{]?$"
)
_EMOJI = re.compile("[\U0001f300-\U0001faff\u2600-\u27bf\U0001f1e6-\U0001f1ff]")
_UNSPACED = re.compile("[\u3041-\u30ff\u4e00-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")
_SHOUT = re.compile(r"\b[A-ZÄÖÜÇĞİŞ]{3,}\b")
_WORD = re.compile(r"[^\W\d_]+")
# No beginning of a word in the tables is longer.
_LONGEST_BEGINNING = 40


@dataclass(frozen=True, slots=True)
class Signals:
    """Words and expressions of one language that speak for a class, a feeling or a trick; lower case."""

    system: tuple[re.Pattern[str], ...] = ()
    injection: tuple[re.Pattern[str], ...] = ()
    machine: tuple[re.Pattern[str], ...] = ()
    correction: tuple[re.Pattern[str], ...] = ()
    decision: tuple[re.Pattern[str], ...] = ()
    preference: tuple[re.Pattern[str], ...] = ()
    fact: tuple[re.Pattern[str], ...] = ()
    urgency: frozenset[str] = frozenset()
    profanity: frozenset[str] = frozenset()
    positive: frozenset[str] = frozenset()
    negative: frozenset[str] = frozenset()
    negations: frozenset[str] = frozenset()
    # Ekman category -> words; a trailing + stands for a word's beginning.
    emotions: Mapping[str, frozenset[str]] | None = None


@dataclass(frozen=True, slots=True)
class Emotion:
    """Valence −1 … 1, arousal 0 … 1, and the category (none where no word speaks for one)."""

    valence: float
    arousal: float
    category: str


def filters_of(text: str, signals: Mapping[str, Signals], figures: ObserveSettings = DEFAULTS) -> tuple[str, ...]:
    """Names of the filters that match, in the order in which they are tried."""
    plain = even(readable(text))
    seen = unmasked(plain)
    found = []
    if not _length_is_fit(text, figures):
        found.append("length")
    every = signals.values()
    if any(mark.search(text) for text in seen for one in every for mark in one.system):
        found.append("system_content")
    if any(mark.search(text) for text in seen for one in every for mark in one.injection):
        found.append("prompt_injection")
    if _XML_BLOCK.search(plain) or len(_TAG.findall(plain)) >= 2:
        found.append("xml_block")
    if len(_BULLET.findall(plain)) >= figures.list_lines:
        found.append("list")
    if _code_share(plain) > figures.code_share:
        found.append("code")
    if len(_EMOJI.findall(plain)) > figures.most_emoji:
        found.append("emoji")
    return tuple(found)


def speaks_of_the_machine(text: str, signals: Mapping[str, Signals]) -> bool:
    """Whether the machine itself is spoken of, its rules, its makers or what it is.

    What a trick says in ever new words; no filter, since it may tell facts beside it.
    """
    seen = unmasked(even(readable(text)))
    return any(mark.search(part) for part in seen for one in signals.values() for mark in one.machine)


def _length_is_fit(text: str, figures: ObserveSettings) -> bool:
    stripped = text.strip()
    # A script without spaces says in four characters what another says in ten.
    unspaced = len(_UNSPACED.findall(stripped)) * 2 > len(stripped)
    least = figures.least_unspaced if unspaced else figures.least_characters + 1
    return least <= len(stripped) < figures.most_characters


def stopping(text: str, filtered: Sequence[str], figures: ObserveSettings) -> tuple[str, ...]:
    """Those of the filters that match which keep the message from making items."""
    short = len(text.strip()) < figures.most_characters and figures.short_statements
    return tuple(name for name in filtered if name in figures.filters and not (short and name == "length"))


def _code_share(text: str) -> float:
    if not text:
        return 0.0
    fenced = sum(len(block) for block in _FENCE.findall(text))
    rest = _FENCE.sub("", text)
    lines = [line for line in rest.splitlines() if line.strip()]
    coded = sum(len(line) for line in lines if _CODE_LINE.search(line)) if len(lines) > 1 else 0
    return (fenced + coded) / len(text)


def classes_of(
    text: str, language: str, signals: Mapping[str, Signals], entities: int, figures: ObserveSettings = DEFAULTS
) -> tuple[tuple[str, float], ...]:
    """Classes that speak for themselves with their scores, the strongest first; they choose a kind, they are no confidence."""
    lowered = lower_in(even(text), language)
    own = signals.get(language)
    found: list[tuple[str, float]] = []
    if own is not None:
        for name in ("correction", "decision", "preference", "fact"):
            hits = sum(bool(mark.search(lowered)) for mark in getattr(own, name))
            if hits:
                found.append((name, min(1.0, getattr(figures.scores, name) * (1 + 0.25 * (hits - 1)))))
    if entities >= figures.entity_rich:
        found.append(("entity_rich", figures.scores.entity_rich))
    return tuple(sorted(found, key=lambda pair: (-pair[1], pair[0])))


def density_of(entities: Sequence[str], facts: int, times: int, corrections: int) -> int:
    """Unique entities, unique facts, signs of time and of correction; below 2 is not worth a long-term write."""
    return len(set(entities)) + facts + times + corrections


def emotion_of(text: str, language: str, signals: Mapping[str, Signals]) -> Emotion:
    """By words of feeling, exclamation marks, capitals, urgency and profanity."""
    plain = even(text)
    own = signals.get(language, Signals())
    words = _WORD.findall(lower_in(plain, language))
    score = 0
    for at, word in enumerate(words):
        sign = _is_of(word, own.positive) - _is_of(word, own.negative)
        if sign and any(before in own.negations for before in words[max(0, at - 3) : at]):
            sign = -sign
        score += sign
    felt = sum(_is_of(word, own.positive) or _is_of(word, own.negative) for word in words)
    valence = max(-1.0, min(1.0, score / max(1, felt) * min(1.0, 0.4 + 0.3 * felt))) if felt else 0.0
    arousal = min(0.45, 0.15 * plain.count("!")) + min(0.4, 0.2 * _shouts(plain))
    arousal += 0.3 * any(_is_of(word, own.urgency) for word in words) + 0.3 * any(_is_of(word, own.profanity) for word in words)
    arousal += 0.1 * min(3, felt)
    counts = {name: sum(_is_of(word, known) for word in words) for name, known in (own.emotions or {}).items()}
    category, most = max(counts.items(), key=lambda pair: (pair[1], pair[0]), default=("none", 0))
    return Emotion(round(valence, 3), round(min(1.0, arousal), 3), category if most else "none")


def _shouts(text: str) -> int:
    letters = [letter for letter in text if letter.isalpha()]
    whole = len(letters) > 12 and sum(letter.isupper() for letter in letters) > 0.7 * len(letters)
    return 2 if whole else min(2, len(_SHOUT.findall(text)) // 2)


@lru_cache(maxsize=65_536)
def _is_of(word: str, known: frozenset[str]) -> bool:
    if word in known:
        return True
    return any(f"{word[:length]}+" in known for length in range(3, min(len(word), _LONGEST_BEGINNING) + 1))

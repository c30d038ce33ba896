"""Counting cues: which labels a language's words speak for, without any model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from aico_memory.domain.language.tables import PhraseTable, fold

NEGATION_REACH = 3
_OPPOSITE = {"positive": "negative", "negative": "positive"}


def intent_cues(text: str, table: PhraseTable) -> dict[str, float]:
    """Weight of each intent in 0..1 by the cues found; longer cues weigh more, at the start of the text twice."""
    folded = fold(text)
    weights = {label: _weight(folded, cues, table.spaced) for label, cues in table.intent_cues.items()}
    if "?" in text or "？" in text or "؟" in text:
        weights["question"] = weights.get("question", 0.0) + 0.6
    return _bounded(weights)


def sentiment_cues(text: str, table: PhraseTable) -> dict[str, float]:
    """Weight of positive and negative in 0..1; a negation within three words before a cue turns it."""
    folded = fold(text)
    words = folded.split()
    weights = {"positive": 0.0, "negative": 0.0}
    for label, cues in table.sentiment_cues.items():
        for cue in cues:
            for at in _places(folded, cue, table.spaced):
                before = folded[:at].split()[-NEGATION_REACH:] if table.spaced else [folded[max(0, at - 2) : at]]
                turned = any(word in table.negations or _ends_with(word, table) for word in before)
                weights[_OPPOSITE[label] if turned and label in _OPPOSITE else label] += 0.5
    return _bounded(weights) if words else weights


def _ends_with(word: str, table: PhraseTable) -> bool:
    return not table.spaced and any(negation in word for negation in table.negations)


def _weight(folded: str, cues: tuple[str, ...], spaced: bool) -> float:
    total = 0.0
    for cue in cues:
        places = _places(folded, cue, spaced)
        if places:
            length = len(cue.split()) if spaced else len(cue) / 2
            total += 0.35 * min(3.0, length) ** 0.5 * (2.0 if places[0] == 0 else 1.0)
    return total


def _places(folded: str, cue: str, spaced: bool) -> list[int]:
    if cue.rstrip("+") not in folded:
        return []
    if not spaced:
        return [found.start() for found in re.finditer(re.escape(cue), folded)]
    return [found.start() for found in _whole(cue).finditer(folded)]


@lru_cache(maxsize=8192)
def _whole(cue: str) -> re.Pattern[str]:
    # A cue that ends with + stands for a word's beginning (inflected languages).
    end = r"\w*" if cue.endswith("+") else ""
    return re.compile(rf"(?<!\w){re.escape(cue.rstrip('+'))}{end}(?!\w)")


def _bounded(weights: Mapping[str, float]) -> dict[str, float]:
    return {label: min(1.0, weight) for label, weight in weights.items() if weight > 0}

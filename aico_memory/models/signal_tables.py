"""Signals of a language's file: the words and wordings by which a message is noticed, without the grammar beside them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from aico_memory.domain.formation.observe import Signals

_EXPRESSIONS = ("system", "injection", "machine", "correction", "decision", "preference", "fact")
# Looked for in texts that are told in another spelling on purpose.
_TRICKS = frozenset({"system", "injection", "machine"})
_WORDS = ("urgency", "profanity", "positive", "negative", "negations")


def signals_of(content: Mapping[str, Any]) -> Signals:
    """The part `signals` of a file; ValueError names an unknown key."""
    if unknown := set(content) - {*_EXPRESSIONS, *_WORDS, "emotions"}:
        raise ValueError(f"unknown key signals.{sorted(unknown)[0]}")
    expressions = {name: tuple(_pattern(name, str(one)) for one in content.get(name, ())) for name in _EXPRESSIONS}
    words = {name: frozenset(str(word) for word in content.get(name, ())) for name in _WORDS}
    emotions = {str(name): frozenset(str(word) for word in known) for name, known in content.get("emotions", {}).items()}
    return Signals(**expressions, **words, emotions=emotions)  # type: ignore[arg-type]


def _pattern(name: str, source: str) -> re.Pattern[str]:
    return re.compile(source.replace("ı", "i") if name in _TRICKS else source)

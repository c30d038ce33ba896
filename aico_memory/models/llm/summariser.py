"""Tells several memories in one text with a language model: question, check against what they say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aico_memory.domain.sleep.derived import SUMMARY
from aico_memory.domain.sleep.telling import (
    SCHEMA_NAME,
    checked_summary,
    prompt_hash,
    summary_conversation,
    summary_schema,
)
from aico_memory.models.llm.asking import Asking, Question
from aico_memory.settings.language_model import LanguageModelSettings

RULES = "rules"


@dataclass(frozen=True, slots=True)
class Told:
    """What came of it; `degraded` says why there is no text."""

    text: str
    answered_by: str
    degraded: str
    model: str
    prompt_hash: str
    milliseconds: float = 0.0
    prompt_tokens: int = 0
    answer_tokens: int = 0


class Summariser:
    """Shares budget, pause and log with whatever else is asked."""

    def __init__(self, asking: Asking, settings: LanguageModelSettings) -> None:
        self._asking = asking
        self._settings = settings

    def summarise(self, texts: Sequence[str], characters: int, memory_id: bytes, kind: str = SUMMARY) -> Told:
        """One text of at most so many characters, a summary or a pattern. Never raises for an answer."""
        model, asked_by = self._settings.model, prompt_hash(kind)
        if sum(map(len, texts)) > self._settings.message_characters:
            asked = self._asking.uncalled("too_long")
        else:

            def check(text: str) -> tuple[str, Mapping[str, Any]]:
                found = checked_summary(text, texts, characters)
                return found, {"characters": len(found)}

            messages = summary_conversation(texts, characters, kind)
            question = Question("summarise", memory_id, asked_by, messages, SCHEMA_NAME, summary_schema(), "\n".join(texts))
            asked = self._asking.ask(question, check)
        usable = asked.outcome == "ok"
        return Told(
            asked.result or "", model if usable else RULES, "" if usable else asked.outcome, model, asked_by,
            asked.milliseconds, asked.prompt_tokens, asked.answer_tokens,
        )  # fmt: skip

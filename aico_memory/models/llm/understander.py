"""Understands questions with a language model: their kind, and texts that could answer them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aico_memory.domain.context.understanding import (
    SCHEMA_NAME,
    Understood,
    checked_understanding,
    prompt_hash,
    understanding_conversation,
    understanding_schema,
)
from aico_memory.models.llm.asking import Asking, Question
from aico_memory.settings.language_model import LanguageModelSettings

RULES = "rules"
_NOTHING = Understood("", ())


@dataclass(frozen=True, slots=True)
class Understanding:
    """What came of it; `degraded` says why there is nothing but the rules."""

    intent: str
    passages: tuple[str, ...]
    answered_by: str
    degraded: str
    model: str
    prompt_hash: str
    milliseconds: float = 0.0
    prompt_tokens: int = 0
    answer_tokens: int = 0


class Understander:
    """Shares budget, pause and log with whatever else is asked."""

    def __init__(self, asking: Asking, settings: LanguageModelSettings) -> None:
        self._asking = asking
        self._settings = settings

    def understand(self, query: str, passages: int, event_id: bytes) -> Understanding:
        """The kind of a question, and at most so many texts. Never raises for an answer."""
        model, asked_by = self._settings.model, prompt_hash()
        if len(query) > self._settings.message_characters:
            asked = self._asking.uncalled("too_long")
        else:

            def check(text: str) -> tuple[Understood, Mapping[str, Any]]:
                found = checked_understanding(text, passages)
                return found, {"passages": len(found.passages)}

            messages = understanding_conversation(query, passages)
            question = Question("understand", event_id, asked_by, messages, SCHEMA_NAME, understanding_schema(), query)
            asked = self._asking.ask(question, check)
        usable = asked.outcome == "ok"
        found = asked.result or _NOTHING
        return Understanding(
            found.intent, found.passages, model if usable else RULES, "" if usable else asked.outcome, model, asked_by,
            asked.milliseconds, asked.prompt_tokens, asked.answer_tokens,
        )  # fmt: skip

"""Reads one message with a language model: filters, question, check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aico_memory.domain.formation.answering import Checked, check_answer, read_answer
from aico_memory.domain.formation.claimed_time import zone_of
from aico_memory.domain.formation.entities import Gazetteer, extract_entities
from aico_memory.domain.formation.form import form
from aico_memory.domain.formation.formed import Formed, FormedFact
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.formation.grounding import Ground, Refused
from aico_memory.domain.formation.observe import filters_of
from aico_memory.domain.formation.prompting import SCHEMA_NAME, Told, answer_schema, conversation, instructions, prompt_hash
from aico_memory.models.llm.asking import Asked, Asking, Question
from aico_memory.settings.language_model import LanguageModelSettings

RULES = "rules"
# The filter for texts of a fitting length.
_SHORT = "length"


@dataclass(frozen=True, slots=True)
class Reading:
    """What came of a question. `degraded` says why the rules stand alone; `again_ms` when to ask once more, None: never."""

    answered_by: str
    model: str
    prompt_hash: str
    facts: tuple[FormedFact, ...] = ()
    refused: tuple[Refused, ...] = ()
    degraded: str = ""
    again_ms: int | None = None
    milliseconds: float = 0.0
    prompt_tokens: int = 0
    answer_tokens: int = 0


class Extractor:
    """Reads messages one by one."""

    def __init__(self, asking: Asking, settings: LanguageModelSettings, tables: FormationTables, gazetteer: Gazetteer) -> None:
        self._asking = asking
        self._settings = settings
        self._tables = tables
        self._gazetteer = gazetteer
        self._instructions = instructions(tables)
        self.prompt_hash = prompt_hash(self._instructions)

    def read(self, told: Told, event_id: bytes) -> Reading:
        """Facts of the message that the rules have not read, or why there are none. Never raises for an answer."""
        settings = self._settings
        told = replace(
            told,
            zone=zone_of(told.zone).key,
            recent=self._sendable(told.recent[-settings.recent_messages :] if settings.recent_messages else ()),
        )
        formed = form(
            told.text, role="user", speaker=told.speaker, said_at_us=told.said_at_us, zone=told.zone, recent=told.recent,
            tables=self._tables, gazetteer=self._gazetteer,
        )  # fmt: skip
        if formed.filtered:
            return self._reading(self._asking.uncalled("filtered"))
        if len(told.text) > settings.message_characters:
            return self._reading(self._asking.uncalled("too_long"))
        messages = conversation(told, self._instructions)
        question = Question("extract", event_id, self.prompt_hash, messages, SCHEMA_NAME, answer_schema(), told.text)
        return self._reading(self._asking.ask(question, lambda text: self._checked(told, formed, text)))

    def _sendable(self, recent: Sequence[str]) -> tuple[str, ...]:
        """Of the messages before it those that no filter names; a short one may still say what another means."""
        tables, most = self._tables, self._settings.message_characters
        return tuple(
            text for text in recent if len(text) <= most and set(filters_of(text, tables.signals, tables.observe)) <= {_SHORT}
        )

    def status(self) -> dict[str, object]:
        """What was asked since the start, what is spent, and what holds it back."""
        return {
            "model": self._settings.model, "endpoint": self._settings.endpoint, "prompt_hash": self.prompt_hash,
            **self._asking.status(),
        }  # fmt: skip

    def _reading(self, asked: Asked[Checked]) -> Reading:
        model = self._settings.model
        checked = asked.result or Checked((), ())
        reading = Reading(
            model, model, self.prompt_hash, checked.facts, checked.refused, milliseconds=asked.milliseconds,
            prompt_tokens=asked.prompt_tokens, answer_tokens=asked.answer_tokens,
        )  # fmt: skip
        if asked.outcome == "ok":
            return reading
        refused = (Refused(asked.outcome, asked.reason, ""),) if asked.reason else ()
        return replace(reading, answered_by=RULES, degraded=asked.outcome, again_ms=asked.again_ms, refused=refused)

    def _checked(self, told: Told, formed: Formed, text: str) -> tuple[Checked, Mapping[str, Any]]:
        grammar = self._tables.grammars.get(formed.language)
        entities = extract_entities(told.text, self._gazetteer, formed.language)
        by_rules = (*formed.facts, *formed.foresight)
        ground = Ground(told, self._tables, grammar, entities)
        checked = check_answer(read_answer(text), ground, by_rules, self._settings.facts_per_message)
        return checked, {"facts": len(checked.facts), "refused": dict(Counter(one.rule for one in checked.refused))}

"""Reads one message with a language model: filters, budget, call, check, one line in the operations log."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from aico_memory.clock import Clock
from aico_memory.domain.formation.answering import Checked, Unusable, check_answer, read_answer
from aico_memory.domain.formation.claimed_time import zone_of
from aico_memory.domain.formation.entities import Gazetteer, extract_entities
from aico_memory.domain.formation.form import form
from aico_memory.domain.formation.formed import Formed, FormedFact
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.formation.grounding import Ground, Refused
from aico_memory.domain.formation.prompting import SCHEMA_NAME, Told, answer_schema, conversation, instructions, prompt_hash
from aico_memory.domain.spending import DAY_US, Spent, overspent
from aico_memory.models.llm.chat import UNSENT, CallFailed, Completion, estimated_tokens
from aico_memory.models.llm.operations import OperationsLog
from aico_memory.settings.language_model import LanguageModelSettings

RULES = "rules"
_BUSY_MS = 1000


class Chat(Protocol):
    """Whoever completes a conversation."""

    def complete(self, messages: Sequence[Mapping[str, str]], name: str, schema: Mapping[str, Any]) -> Completion:
        """The answer; raises CallFailed."""


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
    """One question at a time: an endpoint on the same machine has no more to give, and a budget is counted exactly."""

    def __init__(
        self, chat: Chat, settings: LanguageModelSettings, tables: FormationTables, gazetteer: Gazetteer, log: OperationsLog,
        clock: Clock, digest: Callable[[str], bytes],
    ) -> None:  # fmt: skip
        self._chat = chat
        self._settings = settings
        self._tables = tables
        self._gazetteer = gazetteer
        self._log = log
        self._clock = clock
        self._digest = digest
        self._instructions = instructions(tables)
        self.prompt_hash = prompt_hash(self._instructions)
        self._busy = threading.Lock()
        # A restart forgets nothing of what was spent.
        self._spent = deque(
            Spent(line["at_us"], int(line.get("tokens", 0)))
            for line in log.since(clock.now_us() - DAY_US)
            if line.get("called")
        )
        self._failures = 0
        self._paused_until_us = 0
        self._outcomes: Counter[str] = Counter()

    def read(self, told: Told, event_id: bytes) -> Reading:
        """Facts of the message that the rules have not read, or why there are none. Never raises for an answer."""
        settings = self._settings
        told = replace(
            told,
            zone=zone_of(told.zone).key,
            recent=told.recent[-settings.recent_messages :] if settings.recent_messages else (),
        )
        formed = form(
            told.text, role="user", speaker=told.speaker, said_at_us=told.said_at_us, zone=told.zone, recent=told.recent,
            tables=self._tables, gazetteer=self._gazetteer,
        )  # fmt: skip
        if formed.filtered:
            return self._without("filtered")
        if len(told.text) > settings.message_characters:
            return self._without("too_long")
        if not self._busy.acquire(blocking=False):
            return self._without("busy", _BUSY_MS)
        try:
            return self._held_back() or self._asked(told, formed, event_id)
        finally:
            self._busy.release()

    def status(self) -> dict[str, object]:
        """What was asked since the start, what is spent, and what holds it back."""
        now_us = self._clock.now_us()
        over = overspent(self._spent, now_us, self._settings.budget)
        return {
            "model": self._settings.model, "endpoint": self._settings.endpoint, "prompt_hash": self.prompt_hash,
            "outcomes": dict(sorted(self._outcomes.items())), "calls_today": len(self._spent),
            "tokens_today": sum(one.tokens for one in self._spent), "over_budget": over.limit if over else "",
            "paused": self._paused_until_us > now_us,
        }  # fmt: skip

    def _held_back(self) -> Reading | None:
        now_us = self._clock.now_us()
        while self._spent and self._spent[0].at_us <= now_us - DAY_US:
            self._spent.popleft()
        if self._paused_until_us > now_us:
            return self._without("paused", (self._paused_until_us - now_us) // 1000 + 1)
        over = overspent(self._spent, now_us, self._settings.budget)
        if over is not None:
            return self._without(f"budget_{over.limit}", (over.until_us - now_us) // 1000 + 1)
        return None

    def _asked(self, told: Told, formed: Formed, event_id: bytes) -> Reading:
        messages = conversation(told, self._instructions)
        started = time.monotonic()
        at_us = self._clock.now_us()
        completion: Completion | None = None
        checked = Checked((), ())
        outcome, again, attempts, reason = "ok", None, 1, ""
        prompt_tokens, answer_tokens = 0, 0
        try:
            completion = self._chat.complete(messages, SCHEMA_NAME, answer_schema())
            attempts, prompt_tokens, answer_tokens = completion.attempts, completion.prompt_tokens, completion.answer_tokens
            checked = self._checked(told, formed, completion.text)
        except CallFailed as error:
            outcome, attempts = error.outcome, error.attempts
            prompt_tokens = 0 if outcome in UNSENT else estimated_tokens(messages)
            again = round(1000 * max(error.wait_seconds, self._settings.queue_first_seconds)) if error.passing else None
        except Unusable as error:
            outcome, reason = error.rule, error.reason
        milliseconds = (time.monotonic() - started) * 1000
        self._spent.append(Spent(at_us, prompt_tokens + answer_tokens))
        self._note(outcome, again is not None)
        self._log.append(
            {
                "op": "extract", "at_us": at_us, "event_id": event_id.hex(), "model": self._settings.model,
                "prompt_hash": self.prompt_hash, "input": self._digest(told.text).hex(),
                "output": self._digest(completion.text).hex() if completion else "", "called": True, "attempts": attempts,
                "milliseconds": round(milliseconds, 1), "prompt_tokens": prompt_tokens, "answer_tokens": answer_tokens,
                "tokens": prompt_tokens + answer_tokens, "outcome": outcome, "success": outcome == "ok",
                "fallback": outcome != "ok", "facts": len(checked.facts),
                "refused": dict(Counter(one.rule for one in checked.refused)),
            }
        )  # fmt: skip
        reading = Reading(
            self._settings.model, self._settings.model, self.prompt_hash, checked.facts, checked.refused,
            milliseconds=milliseconds, prompt_tokens=prompt_tokens, answer_tokens=answer_tokens,
        )  # fmt: skip
        if outcome == "ok":
            return reading
        refused = (Refused(outcome, reason, ""),) if reason else ()
        return replace(reading, answered_by=RULES, degraded=outcome, again_ms=again, refused=refused)

    def _checked(self, told: Told, formed: Formed, text: str) -> Checked:
        grammar = self._tables.grammars.get(formed.language)
        entities = extract_entities(told.text, self._gazetteer, formed.language)
        by_rules = (*formed.facts, *formed.foresight)
        ground = Ground(told, self._tables, grammar, entities)
        return check_answer(read_answer(text), ground, by_rules, self._settings.facts_per_message)

    def _note(self, outcome: str, passing: bool) -> None:
        self._outcomes[outcome] += 1
        self._failures = self._failures + 1 if passing else 0
        if self._failures >= self._settings.failures_before_pause:
            self._failures = 0
            self._paused_until_us = self._clock.now_us() + round(self._settings.pause_seconds * 1_000_000)

    def _without(self, reason: str, again_ms: int | None = None) -> Reading:
        """No call was made, so nothing is written into the log; `status` counts it."""
        self._outcomes[reason] += 1
        return Reading(RULES, self._settings.model, self.prompt_hash, degraded=reason, again_ms=again_ms)

"""Questions to the language model: one at a time, within the budget, each with one line in the operations log."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from aico_memory.clock import Clock
from aico_memory.domain.formation.answering import Unusable
from aico_memory.domain.spending import DAY_US, Spent, overspent
from aico_memory.models.llm.chat import UNSENT, CallFailed, Completion, estimated_tokens
from aico_memory.models.llm.operations import OperationsLog
from aico_memory.settings.language_model import LanguageModelSettings

_BUSY_MS = 1000
T = TypeVar("T")


class Chat(Protocol):
    """Whoever completes a conversation."""

    def complete(self, messages: Sequence[Mapping[str, str]], name: str, schema: Mapping[str, Any]) -> Completion:
        """The answer; raises CallFailed."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and under which names it is logged: `op` for what it is, `said` for the words that it is about."""

    op: str
    event_id: bytes
    prompt_hash: str
    messages: Sequence[Mapping[str, str]]
    schema_name: str
    schema: Mapping[str, Any]
    said: str


@dataclass(frozen=True, slots=True)
class Asked(Generic[T]):
    """What came of a question. `outcome` is "ok" or why there is no result; `again_ms` when to ask once more, None: never."""

    outcome: str
    result: T | None = None
    reason: str = ""
    again_ms: int | None = None
    # Whether the endpoint was asked at all.
    called: bool = True
    milliseconds: float = 0.0
    prompt_tokens: int = 0
    answer_tokens: int = 0


class Asking:
    """One question at a time: an endpoint on the same machine has no more to give, and a budget is counted exactly."""

    def __init__(
        self, chat: Chat, settings: LanguageModelSettings, log: OperationsLog, clock: Clock, digest: Callable[[str], bytes]
    ) -> None:
        self._chat = chat
        self._settings = settings
        self._log = log
        self._clock = clock
        self._digest = digest
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

    def ask(self, question: Question, check: Callable[[str], tuple[T, Mapping[str, Any]]]) -> Asked[T]:
        """The checked answer. `check` gives the result and what the log tells of it, or raises Unusable."""
        if not self._busy.acquire(blocking=False):
            return self.uncalled("busy", _BUSY_MS)
        try:
            return self._held_back() or self._called(question, check)
        finally:
            self._busy.release()

    def uncalled(self, reason: str, again_ms: int | None = None) -> Asked[Any]:
        """No call was made, so nothing is written into the log; `status` counts it."""
        self._outcomes[reason] += 1
        return Asked(reason, again_ms=again_ms, called=False)

    def status(self) -> dict[str, object]:
        """What was asked since the start, what is spent, and what holds it back."""
        now_us = self._clock.now_us()
        over = overspent(self._spent, now_us, self._settings.budget)
        return {
            "outcomes": dict(sorted(self._outcomes.items())), "calls_today": len(self._spent),
            "tokens_today": sum(one.tokens for one in self._spent), "over_budget": over.limit if over else "",
            "paused": self._paused_until_us > now_us,
        }  # fmt: skip

    def _held_back(self) -> Asked[Any] | None:
        now_us = self._clock.now_us()
        while self._spent and self._spent[0].at_us <= now_us - DAY_US:
            self._spent.popleft()
        if self._paused_until_us > now_us:
            return self.uncalled("paused", (self._paused_until_us - now_us) // 1000 + 1)
        over = overspent(self._spent, now_us, self._settings.budget)
        if over is not None:
            return self.uncalled(f"budget_{over.limit}", (over.until_us - now_us) // 1000 + 1)
        return None

    def _called(self, question: Question, check: Callable[[str], tuple[T, Mapping[str, Any]]]) -> Asked[T]:
        started = time.monotonic()
        at_us = self._clock.now_us()
        completion: Completion | None = None
        result: T | None = None
        told: Mapping[str, Any] = {}
        # Whatever breaks it was sent: it stands in the log, is spent, and counts towards a pause.
        outcome, attempts, reason = "failed", 1, ""
        again: int | None = self._wait_ms(0.0)
        prompt_tokens, answer_tokens = estimated_tokens(question.messages), 0
        try:
            completion = self._chat.complete(question.messages, question.schema_name, question.schema)
            attempts, prompt_tokens, answer_tokens = completion.attempts, completion.prompt_tokens, completion.answer_tokens
            result, told = check(completion.text)
            outcome, again = "ok", None
        except CallFailed as error:
            outcome, attempts = error.outcome, error.attempts
            prompt_tokens = 0 if outcome in UNSENT else prompt_tokens
            again = self._wait_ms(error.wait_seconds) if error.passing else None
        except Unusable as error:
            outcome, reason, again = error.rule, error.reason, None
        finally:
            milliseconds = (time.monotonic() - started) * 1000
            self._spent.append(Spent(at_us, prompt_tokens + answer_tokens))
            self._note(outcome, again is not None)
            self._log.append(
                {
                    "op": question.op, "at_us": at_us, "event_id": question.event_id.hex(), "model": self._settings.model,
                    "prompt_hash": question.prompt_hash, "input": self._digest(question.said).hex(),
                    "output": self._digest(completion.text).hex() if completion else "", "called": True, "attempts": attempts,
                    "milliseconds": round(milliseconds, 1), "prompt_tokens": prompt_tokens, "answer_tokens": answer_tokens,
                    "tokens": prompt_tokens + answer_tokens, "outcome": outcome, "success": outcome == "ok",
                    "fallback": outcome != "ok", **told,
                }
            )  # fmt: skip
        return Asked(outcome, result, reason, again, True, milliseconds, prompt_tokens, answer_tokens)

    def _wait_ms(self, asked_seconds: float) -> int:
        """As long as the endpoint asks for, within the waits that are set."""
        settings = self._settings
        return round(1000 * min(max(asked_seconds, settings.queue_first_seconds), settings.queue_limit_seconds))

    def _note(self, outcome: str, passing: bool) -> None:
        self._outcomes[outcome] += 1
        self._failures = self._failures + 1 if passing else 0
        if self._failures >= self._settings.failures_before_pause:
            self._failures = 0
            self._paused_until_us = self._clock.now_us() + round(self._settings.pause_seconds * 1_000_000)

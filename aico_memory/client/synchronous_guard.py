"""The synchronous face of the verbs on guardrails."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar

from aico_memory.client.guard_verbs import Adjustment, GuardVerbs, SelfAdjusted, WritingStop

Result = TypeVar("Result")


class _Face(Protocol):
    """What the synchronous client has: the asynchronous one, and a loop that runs its verbs."""

    @property
    def _client(self) -> GuardVerbs: ...

    def _run(self, verb: Coroutine[Any, Any, Result]) -> Result: ...


class SynchronousGuard:
    """Every verb is that of AsyncMemoryClient, which documents it, and waits for the result."""

    def writing_stop(self: _Face) -> WritingStop:
        """Whether all writing is stopped."""
        return self._run(self._client.writing_stop())

    def stop_writing(self: _Face, reason: str | None = None) -> WritingStop:
        """Stop all writing, on every worker and over restarts."""
        return self._run(self._client.stop_writing(reason))

    def allow_writing(self: _Face) -> WritingStop:
        """End the stop of all writing."""
        return self._run(self._client.allow_writing())

    def adjustments(self: _Face, subject: str | None = None, limit: int = 100) -> list[Adjustment]:
        """Changes of the system's own rules, the newest first."""
        return self._run(self._client.adjustments(subject, limit))

    def adjustment(self: _Face, adjustment_id: str) -> Adjustment:
        """One change with its rules and those it replaced."""
        return self._run(self._client.adjustment(adjustment_id))

    def approve_adjustment(self: _Face, adjustment_id: str) -> Adjustment:
        """Apply what was proposed."""
        return self._run(self._client.approve_adjustment(adjustment_id))

    def roll_back_adjustment(self: _Face, adjustment_id: str, reason: str | None = None) -> Adjustment:
        """Let the rules hold again that stood before."""
        return self._run(self._client.roll_back_adjustment(adjustment_id, reason))

    def self_adjust(self: _Face) -> SelfAdjusted:
        """Try out what reviews and judgements propose for long-term memory, now."""
        return self._run(self._client.self_adjust())

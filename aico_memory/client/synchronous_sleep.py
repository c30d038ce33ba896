"""The synchronous face of the verbs on sleep and jobs."""

from __future__ import annotations

import uuid
from collections.abc import Coroutine, Sequence
from typing import Any, Protocol, TypeVar

from aico_memory.client.sleep_verbs import SleepVerbs

Result = TypeVar("Result")


class _Face(Protocol):
    """What the synchronous client has: the asynchronous one, and a loop that runs its verbs."""

    @property
    def _client(self) -> SleepVerbs: ...

    def _run(self, verb: Coroutine[Any, Any, Result]) -> Result: ...


class SynchronousSleep:
    """Every verb is that of AsyncMemoryClient, which documents it, and waits for the result."""

    def sleep_now(
        self: _Face,
        user_id: str | Sequence[str] | None = None,
        phases: Sequence[str] | None = None,
        wait: bool = False,
        timeout_seconds: float = 600.0,
    ) -> dict[str, Any]:
        """Consolidate now."""
        return self._run(self._client.sleep_now(user_id, phases, wait, timeout_seconds))

    def sleep_status(self: _Face, user_id: str | None = None) -> dict[str, Any]:
        """What consolidation does at this moment."""
        return self._run(self._client.sleep_status(user_id))

    def sleep_pending(self: _Face, user_id: str | None = None) -> list[dict[str, Any]]:
        """Who has experiences that wait."""
        return self._run(self._client.sleep_pending(user_id))

    def sleep_estimate(
        self: _Face, user_id: str | Sequence[str] | None = None, phases: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """How long `sleep_now` would take."""
        return self._run(self._client.sleep_estimate(user_id, phases))

    def sleep_cancel(self: _Face, run_id: str | uuid.UUID | None = None) -> dict[str, Any]:
        """End a run."""
        return self._run(self._client.sleep_cancel(run_id))

    def sleep_runs(self: _Face, limit: int = 20, run_id: str | uuid.UUID | None = None) -> list[dict[str, Any]]:
        """The last runs, or one."""
        return self._run(self._client.sleep_runs(limit, run_id))

    def mark_consolidated(self: _Face, user_id: str, message_ids: Sequence[str | uuid.UUID]) -> int:
        """Messages that need no replay any more."""
        return self._run(self._client.mark_consolidated(user_id, message_ids))

    def jobs(self: _Face, history: int = 0) -> dict[str, Any]:
        """The schedule and what ran."""
        return self._run(self._client.jobs(history))

    def run_job(
        self: _Face, job: str, user_id: str | Sequence[str] | None = None, phases: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """Fire a job now."""
        return self._run(self._client.run_job(job, user_id, phases))

    def cancel_job(self: _Face, job: str) -> dict[str, Any]:
        """End a job that runs or waits."""
        return self._run(self._client.cancel_job(job))

"""The synchronous face of the verbs on time."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar

from aico_memory.client.memory_verbs import Moment
from aico_memory.client.time_results import Evolution, HeldFacts, Prediction, Trend
from aico_memory.client.time_verbs import MAX_FACTS, MAX_STEPS, Kinds, TimeVerbs

Result = TypeVar("Result")
Name = str | None


class _Face(Protocol):
    """What the synchronous client has: the asynchronous one, and a loop that runs its verbs."""

    @property
    def _client(self) -> TimeVerbs: ...

    def _run(self, verb: Coroutine[Any, Any, Result]) -> Result: ...


class SynchronousTime:
    """Every verb is that of AsyncMemoryClient, which documents it, and waits for the result."""

    def state(
        self: _Face,
        user_id: str,
        at: Moment = None,
        known_as_of: Moment = None,
        about: Name = None,
        subject: Name = None,
        kind: Kinds = None,
        limit: int = MAX_FACTS,
        group_id: Name = None,
        project_id: Name = None,
    ) -> HeldFacts:
        """All facts that were true at a moment, as believed at another."""
        return self._run(self._client.state(user_id, at, known_as_of, about, subject, kind, limit, group_id, project_id))

    def snapshot(
        self: _Face,
        user_id: str,
        at: Moment,
        about: Name = None,
        subject: Name = None,
        kind: Kinds = None,
        limit: int = MAX_FACTS,
        group_id: Name = None,
        project_id: Name = None,
    ) -> HeldFacts:
        """The state of a moment as it would have been answered then."""
        return self._run(self._client.snapshot(user_id, at, about, subject, kind, limit, group_id, project_id))

    def timeline(
        self: _Face,
        user_id: str,
        about: Name = None,
        since: Moment = None,
        until: Moment = None,
        known_as_of: Moment = None,
        subject: Name = None,
        kind: Kinds = None,
        limit: int = MAX_FACTS,
        group_id: Name = None,
        project_id: Name = None,
    ) -> HeldFacts:
        """What was true in [since, until), piece by piece."""
        return self._run(
            self._client.timeline(
                user_id, about, since, until, known_as_of, subject, kind, limit, group_id, project_id
            )
        )  # fmt: skip

    def evolution(
        self: _Face,
        user_id: str,
        about: str,
        subject: Name = None,
        limit: int = MAX_STEPS,
        group_id: Name = None,
        project_id: Name = None,
    ) -> Evolution:
        """How a fact came to be what it is."""
        return self._run(self._client.evolution(user_id, about, subject, limit, group_id, project_id))

    def trend(
        self: _Face,
        user_id: str,
        about: str,
        what: str = "value",
        since: Moment = None,
        until: Moment = None,
        predict_at: Moment = None,
        subject: Name = None,
        group_id: Name = None,
        project_id: Name = None,
        bucket: int = 0,
        at: Moment = None,
    ) -> Trend:
        """Slope, volatility and change points of a number over time."""
        return self._run(
            self._client.trend(
                user_id, about, what, since, until, predict_at, subject, group_id, project_id, bucket, at
            )
        )  # fmt: skip

    def predict(
        self: _Face,
        user_id: str,
        about: str,
        at: Moment,
        what: str = "value",
        subject: Name = None,
        group_id: Name = None,
        project_id: Name = None,
        bucket: int = 0,
    ) -> Prediction:
        """The number expected at a moment, with an interval; or unknown, and why."""
        return self._run(self._client.predict(user_id, about, at, what, subject, group_id, project_id, bucket))

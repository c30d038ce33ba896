"""The synchronous face of the verbs on facts."""

from __future__ import annotations

import uuid
from collections.abc import Coroutine, Sequence
from typing import Any, Protocol, TypeVar

from aico_memory.client.fact_results import (
    Explanation,
    PolicyState,
    Recall,
    Reinforcement,
    ReviewOutcome,
    ReviewQueue,
    ShadowReport,
    Turn,
)
from aico_memory.client.fact_verbs import FactVerbs
from aico_memory.client.memory_verbs import Moment
from aico_memory.client.results import MemoryPage

Result = TypeVar("Result")
Name = str | None


class _Face(Protocol):
    """What the synchronous client has: the asynchronous one, and a loop that runs its verbs."""

    @property
    def _client(self) -> FactVerbs: ...

    def _run(self, verb: Coroutine[Any, Any, Result]) -> Result: ...


class SynchronousFacts:
    """Every verb is that of AsyncMemoryClient, which documents it, and waits for the result."""

    def recall(
        self: _Face,
        question: str,
        user_id: str,
        as_of: Moment = None,
        known_as_of: Moment = None,
        group_id: Name = None,
        project_id: Name = None,
        zone: Name = None,
    ) -> Recall:
        """What answers a question and was true at `as_of`, by what was known at `known_as_of`."""
        return self._run(self._client.recall(question, user_id, as_of, known_as_of, group_id, project_id, zone))

    def explain(self: _Face, identifier: str, user_id: str, group_id: Name = None, project_id: Name = None) -> Explanation:
        """Why a message led to what it led to, or how a memory came about."""
        return self._run(self._client.explain(identifier, user_id, group_id, project_id))

    def review_queue(
        self: _Face,
        user_id: str,
        status: str | Sequence[str] | None = None,
        limit: int = 100,
        group_id: Name = None,
        project_id: Name = None,
    ) -> ReviewQueue:
        """What waits for a person, the most important first."""
        return self._run(self._client.review_queue(user_id, status, limit, group_id, project_id))

    def promote(
        self: _Face, memory_id: str, user_id: str, reason: Name = None, group_id: Name = None, project_id: Name = None
    ) -> ReviewOutcome:
        """Accept what waits."""
        return self._run(self._client.promote(memory_id, user_id, reason, group_id, project_id))

    def reject(
        self: _Face, memory_id: str, user_id: str, reason: Name = None, group_id: Name = None, project_id: Name = None
    ) -> ReviewOutcome:
        """Lay aside what waits."""
        return self._run(self._client.reject(memory_id, user_id, reason, group_id, project_id))

    def policy(self: _Face, user_id: Name = None, group_id: Name = None, project_id: Name = None) -> PolicyState:
        """The write policy of a scope with its versions; everybody's where none is named."""
        return self._run(self._client.policy(user_id, group_id, project_id))

    def set_policy(
        self: _Face, user_id: Name = None, group_id: Name = None, project_id: Name = None, **fields: Any
    ) -> PolicyState:
        """Change fields of a write policy as a new version."""
        return self._run(self._client.set_policy(user_id, group_id, project_id, **fields))

    def rollback_policy(self: _Face, user_id: Name = None, group_id: Name = None, project_id: Name = None) -> PolicyState:
        """Let the previous policy hold again."""
        return self._run(self._client.rollback_policy(user_id, group_id, project_id))

    def set_read_only(
        self: _Face, read_only: bool, user_id: Name = None, group_id: Name = None, project_id: Name = None
    ) -> PolicyState:
        """The emergency switch: while it is on no item changes."""
        return self._run(self._client.set_read_only(read_only, user_id, group_id, project_id))

    def shadow_report(
        self: _Face,
        user_id: str,
        since: Moment = None,
        until: Moment = None,
        group_id: Name = None,
        project_id: Name = None,
    ) -> ShadowReport:
        """What was decided in [since, until), and what the modes would have done with it."""
        return self._run(self._client.shadow_report(user_id, since, until, group_id, project_id))

    def add_turn(
        self: _Face,
        user_id: str,
        input: str,
        response: str,
        response_summary: Name = None,
        interaction_id: Name = None,
        session_id: Name = None,
        group_id: Name = None,
        project_id: Name = None,
        timestamp: Moment = None,
        zone: Name = None,
        injected: Sequence[str] | None = None,
        reinforce: bool = True,
    ) -> Turn:
        """Add what was asked and what was answered, as one turn."""
        return self._run(
            self._client.add_turn(
                user_id, input, response, response_summary, interaction_id, session_id, group_id, project_id, timestamp,
                zone, injected, reinforce,
            )
        )  # fmt: skip

    def reinforce(
        self: _Face,
        interaction_id: str,
        user_id: str,
        delta: float | None = None,
        group_id: Name = None,
        project_id: Name = None,
    ) -> Reinforcement:
        """Look once more for what a stored interaction used."""
        return self._run(self._client.reinforce(interaction_id, user_id, delta, group_id, project_id))

    def judge(
        self: _Face,
        memory_ids: str | Sequence[str],
        user_id: str,
        helpful: bool,
        group_id: Name = None,
        project_id: Name = None,
        event_id: str | uuid.UUID | None = None,
    ) -> MemoryPage:
        """Say whether memories helped."""
        return self._run(self._client.judge(memory_ids, user_id, helpful, group_id, project_id, event_id))

"""The synchronous face of the verbs on suggestions, outcomes and profiles."""

from __future__ import annotations

import uuid
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from aico_memory.client.outcome_results import (
    CompactionReport,
    Insight,
    Insights,
    OpenSuggestion,
    OutcomesFound,
    Profile,
    RecordedOutcome,
    SuggestionAdvice,
)
from aico_memory.client.outcome_verbs import Moment
from aico_memory.client.tool_verbs import ToolVerbs, tools

Result = TypeVar("Result")


class _Face(Protocol):
    """What the synchronous client has: the asynchronous one, and a loop that runs its verbs."""

    @property
    def _client(self) -> ToolVerbs: ...

    def _run(self, verb: Coroutine[Any, Any, Result]) -> Result: ...


class SynchronousOutcomes:
    """Every verb is that of AsyncMemoryClient, which documents it, and waits for the result."""

    def record_outcome(
        self: _Face,
        user_id: str,
        suggestion_id: str,
        type: str,
        value: str | None = None,
        outcome: str | None = None,
        reason: str | None = None,
        state_before: Any = None,
        state_after: Any = None,
        evidence: Sequence[str] = (),
        created: Moment = None,
        decided: Moment = None,
        tags: Sequence[str] = (),
        event_id: str | uuid.UUID | None = None,
    ) -> RecordedOutcome:
        """Record what became of a suggestion."""
        verb = self._client.record_outcome(
            user_id, suggestion_id, type, value, outcome, reason, state_before, state_after, evidence, created, decided, tags,
            event_id,
        )  # fmt: skip
        return self._run(verb)

    def make_suggestion(
        self: _Face,
        user_id: str,
        type: str,
        value: str | None = None,
        reason: str | None = None,
        suggestion_id: str | None = None,
        state_before: Any = None,
        evidence: Sequence[str] = (),
        tags: Sequence[str] = (),
        expires: Moment = None,
    ) -> OpenSuggestion:
        """Note a suggestion that is being shown."""
        verb = self._client.make_suggestion(
            user_id, type, value, reason, suggestion_id, state_before, evidence, tags, expires
        )  # fmt: skip
        return self._run(verb)

    def accept_suggestion(
        self: _Face, user_id: str, suggestion_id: str, reason: str | None = None, state_after: Any = None
    ) -> RecordedOutcome:
        """The user accepts an open suggestion."""
        return self._run(self._client.accept_suggestion(user_id, suggestion_id, reason, state_after))

    def reject_suggestion(
        self: _Face, user_id: str, suggestion_id: str, reason: str | None = None, state_after: Any = None
    ) -> RecordedOutcome:
        """The user rejects an open suggestion."""
        return self._run(self._client.reject_suggestion(user_id, suggestion_id, reason, state_after))

    def suggestions(self: _Face, user_id: str) -> list[OpenSuggestion]:
        """The user's open suggestions."""
        return self._run(self._client.suggestions(user_id))

    def should_suggest(
        self: _Face, user_id: str, type: str, value: str | None = None, text: str | None = None
    ) -> SuggestionAdvice:
        """Whether to suggest this: yes, caution or no."""
        return self._run(self._client.should_suggest(user_id, type, value, text))

    def profile(self: _Face, user_id: str) -> Profile:
        """What is known of the user's answers to suggestions."""
        return self._run(self._client.profile(user_id))

    def outcomes(
        self: _Face,
        user_id: str,
        layer: int = 1,
        query: str | None = None,
        ids: Sequence[str] = (),
        types: Sequence[str] = (),
        outcomes: Sequence[str] = (),
        tags: Sequence[str] = (),
        since: Moment = None,
        until: Moment = None,
        top_k: int | None = None,
    ) -> OutcomesFound:
        """Past outcomes at one of three depths."""
        verb = self._client.outcomes(user_id, layer, query, ids, types, outcomes, tags, since, until, top_k)
        return self._run(verb)

    def delete_outcomes(self: _Face, user_id: str, ids: Sequence[str] = (), everything: bool = False) -> dict[str, int]:
        """Delete outcomes and what the profile learned from them."""
        return self._run(self._client.delete_outcomes(user_id, ids, everything))

    def compact_outcomes(self: _Face, user_id: str | None = None) -> CompactionReport:
        """Compact old outcomes now."""
        return self._run(self._client.compact_outcomes(user_id))

    def curate_insights(self: _Face) -> Insights:
        """Make the generalisations over people anew."""
        return self._run(self._client.curate_insights())

    def insights(self: _Face, status: str | None = None) -> Insights:
        """Generalisations over at least k people."""
        return self._run(self._client.insights(status))

    def review_insight(self: _Face, insight_id: str, action: str) -> Insight:
        """promote or reject a generalisation."""
        return self._run(self._client.review_insight(insight_id, action))

    @staticmethod
    def tools() -> list[dict[str, Any]]:
        """The function-calling schemas of the advisor's verbs."""
        return tools()

    def call_tool(self: _Face, name: str, arguments: Mapping[str, Any] | str) -> Any:
        """Carry out a call that a model has made of one of `tools()`."""
        return self._run(self._client.call_tool(name, arguments))

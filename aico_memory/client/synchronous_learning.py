"""The synchronous face of the verbs on what was learned of a person's style."""

from __future__ import annotations

import uuid
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from aico_memory.client.feedback_verbs import FeedbackReading, Undone
from aico_memory.client.learning_verbs import Learned, LearningVerbs, PolicyEvaluation, StyleBelief
from aico_memory.client.results import FeedbackOutcome, Skill
from aico_memory.client.selection_verbs import Explanation, Moment, Selection

Result = TypeVar("Result")


class _Face(Protocol):
    """What the synchronous client has: the asynchronous one, and a loop that runs its verbs."""

    @property
    def _client(self) -> LearningVerbs: ...

    def _run(self, verb: Coroutine[Any, Any, Result]) -> Result: ...


class SynchronousLearning:
    """Every verb is that of AsyncMemoryClient, which documents it, and waits for the result."""

    def explain_selection(self: _Face, request_id: str, user_id: str | None = None) -> Explanation:
        """Why the selection of this request chose what it chose."""
        return self._run(self._client.explain_selection(request_id, user_id))

    def selection_list(
        self: _Face, user_id: str, limit: int = 100, skill_id: str | None = None, after: str | None = None
    ) -> list[Selection]:
        """The user's selections, newest first."""
        return self._run(self._client.selection_list(user_id, limit, skill_id, after))

    def record_response(self: _Face, user_id: str, request_id: str, response: str) -> str:
        """Keep the answer that was given with a selected skill."""
        return self._run(self._client.record_response(user_id, request_id, response))

    def delete_selections(
        self: _Face, user_id: str, request_id: str | None = None, until: Moment = None, everything: bool = False
    ) -> int:
        """Delete what was asked, chosen and why; thumbs stay."""
        return self._run(self._client.delete_selections(user_id, request_id, until, everything))

    def style(self: _Face, user_id: str) -> list[StyleBelief]:
        """What the user likes of each style dimension."""
        return self._run(self._client.style(user_id))

    def learn_now(self: _Face) -> Learned:
        """Run the nightly batch."""
        return self._run(self._client.learn_now())

    def classify_feedback(self: _Face, text: str, language: str | None = None) -> dict[str, float]:
        """What a text says of an answer: six categories, each 0..1; the largest is the answer."""
        return self._run(self._client.classify_feedback(text, language))

    def read_feedback(self: _Face, text: str, language: str | None = None) -> FeedbackReading:
        """The same with category, matching complaints, language, and which models answered."""
        return self._run(self._client.read_feedback(text, language))

    def undo_learning(self: _Face, user_id: str, until: Moment = None) -> Undone:
        """Take back everything learned of the user after a moment; None: everything."""
        return self._run(self._client.undo_learning(user_id, until))

    def feedback_list(
        self: _Face, user_id: str, limit: int = 100, after: str | uuid.UUID | None = None
    ) -> list[dict[str, Any]]:
        """The user's feedback events, newest first."""
        return self._run(self._client.feedback_list(user_id, limit, after))

    def delete_feedback(self: _Face, user_id: str, event_id: str | uuid.UUID) -> Undone:
        """Delete one feedback event and what it taught."""
        return self._run(self._client.delete_feedback(user_id, event_id))

    def edit_feedback(
        self: _Face,
        user_id: str,
        event_id: str | uuid.UUID,
        reward: int | None = None,
        reason: str | None = None,
        free_text: str | None = None,
    ) -> FeedbackOutcome:
        """Change what one feedback event says; what is None stays."""
        return self._run(self._client.edit_feedback(user_id, event_id, reward, reason, free_text))

    def export_behavior(self: _Face, user_id: str) -> list[dict[str, Any]]:
        """Everything that is kept of a user's behaviour."""
        return self._run(self._client.export_behavior(user_id))

    def put_skill(
        self: _Face,
        user_id: str,
        template: str,
        name: str | None = None,
        skill_id: str | None = None,
        intents: Sequence[str] = (),
        sentiments: Sequence[str] = (),
        times_of_day: Sequence[str] = (),
        dimensions: Mapping[str, float] | None = None,
        topics: Sequence[str] = (),
    ) -> Skill:
        """Create a skill of the user's own, or a new version of one."""
        more = (intents, sentiments, times_of_day, dimensions, topics)
        return self._run(self._client.put_skill(user_id, template, name, skill_id, *more))

    def change_skill(self: _Face, user_id: str, skill_id: str, action: str) -> Skill:
        """accept, archive, restore, revert or delete a skill of the user's own; archive or restore a base skill."""
        return self._run(self._client.change_skill(user_id, skill_id, action))

    def policies(self: _Face) -> dict[str, Any]:
        """The policies and priors there are, and those in use."""
        return self._run(self._client.policies())

    def set_preference(self: _Face, user_id: str, style: Mapping[str, float], bucket: int | None = None) -> dict[str, Any]:
        """Say which style the user wants."""
        return self._run(self._client.set_preference(user_id, style, bucket))

    def reset_preference(self: _Face, user_id: str, bucket: int | None = None) -> dict[str, Any]:
        """Put the preferred style back to neutral; what was learned of style there counts no more."""
        return self._run(self._client.reset_preference(user_id, bucket))

    def evaluate_policy(self: _Face, policy: str | None = None, settings: Mapping[str, Any] | None = None) -> PolicyEvaluation:
        """What another policy, or other figures, would have been worth on what was logged."""
        return self._run(self._client.evaluate_policy(policy, settings))

    def behavior_metrics(
        self: _Face, query: str, since: Moment = None, until: Moment = None, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """A ready-made query over what selection and learning did."""
        return self._run(self._client.behavior_metrics(query, since, until, limit))

    def behavior_figures(self: _Face, since: Moment = None, until: Moment = None) -> list[dict[str, Any]]:
        """Selections, explorations and thumbs by the hour and skill."""
        return self._run(self._client.behavior_figures(since, until))

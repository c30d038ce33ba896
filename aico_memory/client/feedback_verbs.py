"""Verbs on feedback that was given: what a text says, see it, change it, delete it, take all of it along."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, TypedDict

from aico_memory.client.paging import paged
from aico_memory.client.results import FeedbackOutcome
from aico_memory.client.session import Session
from aico_memory.client.validation import (
    MAX_FREE_TEXT,
    REASONS,
    checked_id,
    checked_reward,
    checked_text,
    judging,
    optional_text,
)
from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.errors import InvalidMessage

MAX_TEXT = 2000
# The first text waits until the phrases are learned.
CLASSIFY_SECONDS = 15.0


class FeedbackReading(TypedDict):
    """What a text says of an answer."""

    # The likeliest: too_verbose | too_brief | wrong_tone | not_helpful | incorrect_info | none
    category: str
    # All six, 0..1, together 1.
    scores: dict[str, float]
    # The complaints that are likely enough to be acted on.
    matching: list[str]
    language: str
    # spelling, or spelling and the embedding model.
    answered_by: str
    # From which chance on a complaint is acted on, and for which model that was calibrated; or that its model is not.
    threshold: float
    calibration: str


class Undone(TypedDict):
    """How many thumbs were taken back or say again what they said before an edit, and how many still teach."""

    undone: int
    left: int


class FeedbackVerbs:
    """Verbs on feedback events."""

    _session: Session

    async def classify_feedback(self, text: str, language: str | None = None) -> dict[str, float]:
        """What a text says of an answer: too_verbose, too_brief, wrong_tone, not_helpful, incorrect_info and none, each 0..1.

        The largest is the answer. `language` (ISO 639-1) is guessed where it is not given. Nothing is stored.
        """
        return (await self.read_feedback(text, language))["scores"]

    async def read_feedback(self, text: str, language: str | None = None) -> FeedbackReading:
        """The same with the likeliest category, the complaints that are acted on, the language, and which models answered."""
        question = behavioral_pb2.ClassifyTextRequest(
            text=checked_text(text, "text", MAX_TEXT), language=optional_text(language, "language", 16)
        )
        answer = await self._session.ask(question, "", seconds=CLASSIFY_SECONDS)
        return {
            "category": answer.category,
            "scores": dict(answer.scores),
            "matching": list(answer.matching),
            "language": answer.language,
            "answered_by": answer.answered_by,
            "threshold": answer.threshold,
            "calibration": answer.calibration,
        }

    async def feedback_list(self, user_id: str, limit: int = 100, after: str | uuid.UUID | None = None) -> list[dict[str, Any]]:
        """The user's feedback events, newest first; `after` an `event_id`: those behind it, NotFound where it is gone."""
        user = self._session.user(user_id)

        async def ask(entries: int, behind: bytes) -> tuple[Sequence[behavioral_pb2.FeedbackEntry], bytes]:
            request = behavioral_pb2.FeedbackListRequest(user_id=user, limit=entries, after=behind)
            page = await self._session.ask(request, user)
            return page.feedback, page.next

        found = await paged(ask, limit, b"" if after is None else checked_id(after, "after").bytes)
        return [
            {
                "event_id": str(uuid.UUID(bytes=one.event_id)),
                "message_id": one.message_id,
                "skill_id": one.skill_id,
                "reward": one.reward,
                "reason": one.reason,
                "categories": dict(one.categories),
                "classified_by": one.classified_by,
                "free_text": one.free_text,
                "at": datetime.fromtimestamp(one.at_us / 1e6, UTC).isoformat(),
                "bucket": one.bucket,
                "request_id": one.request_id,
                "is_exploration": one.is_exploration,
                "undone": one.undone,
            }
            for one in found
        ]

    async def delete_feedback(self, user_id: str, event_id: str | uuid.UUID) -> Undone:
        """Delete one feedback event and what it taught. NotFound where the user has none of this id."""
        user = self._session.user(user_id)
        command = behavioral_pb2.UndoLearning(user_id=user, event_id=checked_id(event_id, "event_id").bytes)
        result = await self._session.command(command, user)
        return {"undone": result.undone, "left": result.left}

    async def edit_feedback(
        self,
        user_id: str,
        event_id: str | uuid.UUID,
        reward: int | None = None,
        reason: str | None = None,
        free_text: str | None = None,
    ) -> FeedbackOutcome:
        """Change what one feedback event says; what is None stays, and an empty reason or text takes it away.

        What was learned is then what it would be had it said so from the start; reason and text move preferences anew in
        the next nightly batch. A thumb that is made neutral teaches nothing: its status is `unchanged`, as that of any neutral
        one. Without consent reason and text can be taken away; for anything else the status says so.
        Raises NotFound, InvalidReward, InvalidFeedback.
        """
        with judging():
            user = self._session.user(user_id)
            command = behavioral_pb2.EditFeedback(user_id=user, event_id=checked_id(event_id, "event_id").bytes)
            if reward is not None:
                command.reward = checked_reward(reward)
            if reason is not None:
                if reason and reason not in REASONS:
                    raise InvalidMessage(f"reason is {reason!r}; allowed are {', '.join(REASONS)}, or nothing")
                command.reason = reason
            if free_text is not None:
                command.free_text = optional_text(free_text or None, "free_text", MAX_FREE_TEXT)
        result = await self._session.command(command, user)
        return {"status": result.status, "skill_updated": result.skill_updated, "new_confidence": result.new_confidence}

    async def export_behavior(self, user_id: str) -> list[dict[str, Any]]:
        """Everything that is kept of a user's behaviour: consent, skills, preferences, feedback, selections with their
        reasons, trajectories, what changed and why, outcomes and profile; each with its `section`."""
        user = self._session.user(user_id)
        found: list[dict[str, Any]] = []
        after = ""
        while True:
            page = await self._session.ask(behavioral_pb2.BehaviorExportRequest(user_id=user, after=after), user)
            found += [json.loads(line) for line in page.lines]
            if not page.next:
                return found
            after = page.next

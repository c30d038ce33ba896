"""Verbs on the course of a person's selections: why each was made, what was answered, all of them, and away with them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TypedDict

from aico_memory.client.feedback_verbs import FeedbackVerbs
from aico_memory.client.paging import paged
from aico_memory.client.session import Session
from aico_memory.client.validation import MAX_QUERY, checked_flag, checked_text, moment_us, optional_text
from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.errors import InvalidMessage

Moment = datetime | str | None


class Explanation(TypedDict):
    """Why a skill was chosen, or why none was."""

    request_id: str
    # applied | no_applicable_skill | no_consent
    outcome: str
    skill_id: str
    skill_name: str
    policy: str
    score: float
    # trigger (fit of the situation), alignment (liking of the style), posterior (the skill's own record, and the draw)
    shares: dict[str, float]
    explanation: str
    question: str
    is_exploration: bool
    # Chance with which the policy takes this skill here; 0.0: not known.
    propensity: float
    confidence: float
    alignment: float
    bucket: int
    answered_by: str


class Selection(TypedDict):
    """One selection of the past; `explain_selection` tells why it was made."""

    request_id: str
    at: str
    # applied | no_applicable_skill | no_consent
    outcome: str
    skill_id: str
    skill_name: str
    intent: str
    sentiment: str
    time_of_day: str
    bucket: int
    score: float
    is_exploration: bool
    # The latest thumb on it; None without one.
    reward: int | None
    # How the message began, and the answer to it; empty where it was not kept.
    message: str
    response: str


class SelectionVerbs(FeedbackVerbs):
    """Verbs on selections that were made."""

    _session: Session

    async def explain_selection(self, request_id: str, user_id: str | None = None) -> Explanation:
        """Why the selection of this request chose what it chose. NotFound where no such selection stands.

        A request id that a caller chose for several users needs the user to be named, and so does an identity that is
        bound to certain users.
        """
        user = self._session.user(user_id) if user_id is not None else ""
        named = checked_text(request_id, "request_id", 256)
        answer = await self._session.ask(behavioral_pb2.ExplainSelectionRequest(request_id=named, user_id=user), user)
        return {
            "request_id": answer.request_id,
            "outcome": answer.outcome,
            "skill_id": answer.skill_id,
            "skill_name": answer.skill_name,
            "policy": answer.policy,
            "score": answer.score,
            "shares": dict(answer.shares),
            "explanation": answer.explanation,
            "question": answer.question,
            "is_exploration": answer.is_exploration,
            "propensity": answer.propensity,
            "confidence": answer.confidence_score,
            "alignment": answer.preference_alignment,
            "bucket": answer.bucket,
            "answered_by": answer.answered_by,
        }

    async def selection_list(
        self, user_id: str, limit: int = 100, skill_id: str | None = None, after: str | None = None
    ) -> list[Selection]:
        """The user's selections, newest first: request ids for `explain_selection` and `feedback`; of one skill, or of all.

        `after` a `request_id`: those behind it; NotFound where it is gone.
        """
        user = self._session.user(user_id)
        skill = optional_text(skill_id, "skill_id", 128)

        async def ask(entries: int, behind: str) -> tuple[Sequence[behavioral_pb2.SelectionEntry], str]:
            request = behavioral_pb2.SelectionListRequest(user_id=user, skill_id=skill, limit=entries, after=behind)
            page = await self._session.ask(request, user)
            return page.selections, page.next

        found = await paged(ask, limit, optional_text(after, "after"))
        return [
            {
                "request_id": one.request_id,
                "at": datetime.fromtimestamp(one.at_us / 1e6, UTC).isoformat(),
                "outcome": one.outcome,
                "skill_id": one.skill_id,
                "skill_name": one.skill_name,
                "intent": one.intent,
                "sentiment": one.sentiment,
                "time_of_day": one.time_of_day,
                "bucket": one.bucket,
                "score": one.score,
                "is_exploration": one.is_exploration,
                "reward": one.reward if one.HasField("reward") else None,
                "message": one.message_text,
                "response": one.response_text,
            }
            for one in found
        ]

    async def record_response(self, user_id: str, request_id: str, response: str) -> str:
        """Keep the answer that was given with a selected skill in the trajectory of its request; "" deletes it.

        recorded, deleted, no_consent or no_trajectory (no skill was chosen, or the trajectory is deleted already). It is
        sealed with the user's key, and archived and deleted with its trajectory. NotFound where no selection of the user
        stands under this request id.
        """
        user = self._session.user(user_id)
        command = behavioral_pb2.RecordResponse(
            user_id=user, request_id=checked_text(request_id, "request_id", 256),
            response_text=checked_text(response, "response", MAX_QUERY, empty=True),
        )  # fmt: skip
        return str((await self._session.command(command, user)).status)

    async def delete_selections(
        self, user_id: str, request_id: str | None = None, until: Moment = None, everything: bool = False
    ) -> int:
        """Delete what was asked, chosen and why: of one request, of all up to a moment, or with `everything` of all; how many.

        Thumbs on them, and what these have taught, stay. InvalidMessage unless exactly one of the three is given, NotFound
        where the user has no selection of this request.
        """
        if sum((request_id is not None, until is not None, checked_flag(everything, "everything"))) != 1:
            raise InvalidMessage(
                "Say which selections", "Give a `request_id`, `until` or `everything=True`, and only one of them."
            )
        user = self._session.user(user_id)
        command = behavioral_pb2.DeleteSelections(
            user_id=user, request_id=optional_text(request_id, "request_id"), until_us=moment_us(until, "until")
        )
        return int((await self._session.command(command, user)).deleted)

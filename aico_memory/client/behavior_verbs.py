"""What a client can say about behaviour: which skill, was it good, may the system learn from it."""

from __future__ import annotations

import uuid

from aico_memory.client.learning_verbs import LearningVerbs
from aico_memory.client.results import AppliedSkill, FeedbackOutcome, Preference, Skill, SkillChoice
from aico_memory.client.session import Session
from aico_memory.client.shapes import choice_shape, preference_shape, skill_shape
from aico_memory.client.validation import (
    MAX_FREE_TEXT,
    MAX_QUERY,
    REASONS,
    checked_id,
    checked_reward,
    checked_text,
    checked_zone,
    judging,
    optional_text,
)
from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.domain.behavioral.skill import with_template
from aico_memory.errors import InvalidMessage
from aico_memory.ids import new_id

TIMES_OF_DAY = ("morning", "afternoon", "evening", "night")


class BehaviorVerbs(LearningVerbs):
    """Verbs on skills, feedback and consent."""

    _session: Session

    async def select_skill(
        self,
        user_id: str,
        message: str,
        intent: str | None = None,
        sentiment: str | None = None,
        time_of_day: str | None = None,
        topic: str | None = None,
        request_id: str | None = None,
        session_id: str | None = None,
        zone: str | None = None,
    ) -> SkillChoice | None:
        """Choose how to answer a message; None where no skill applies: `explain_selection` of its `request_id` says why.

        What is not given is worked out from the message. The same `request_id` again gives the same choice.
        `time_of_day` is morning, afternoon, evening or night; without it that of the clock in `zone` (IANA, the user's;
        without one `behavioral.zone`). InvalidMessage for a zone that there is not. `intent` (base skills know question,
        request, learning, casual, technical, code_review, emotional, planning, creative, decision, summary and statement)
        and `sentiment` (positive, neutral, negative) are open: a skill of the user's own may name others, and one that no
        skill names fits none.
        """
        asked = (user_id, message, intent, sentiment, time_of_day, topic, request_id, session_id, zone)
        return choice_shape(await self._selected(*asked))

    async def _selected(
        self, user_id: str, message: str, intent: str | None, sentiment: str | None, time_of_day: str | None,
        topic: str | None, request_id: str | None, session_id: str | None, zone: str | None, apply: bool = False,
    ) -> behavioral_pb2.SkillSelectionResponse:  # fmt: skip
        user = self._session.user(user_id)
        if time_of_day is not None and time_of_day not in TIMES_OF_DAY:
            raise InvalidMessage(f"time_of_day is {time_of_day!r}; allowed are {', '.join(TIMES_OF_DAY)}")
        now_us = self._session.clock.now_us()
        event_id = new_id(now_us)
        named = optional_text(request_id, "request_id") or str(event_id)
        request = behavioral_pb2.SkillSelectionRequest(
            user_id=user,
            conversation_id=optional_text(session_id, "session_id"),
            message_text=checked_text(message, "message", MAX_QUERY),
            timestamp=now_us,
            request_id=named,
            intent=optional_text(intent, "intent", 64),
            sentiment=optional_text(sentiment, "sentiment", 64),
            time_of_day=time_of_day or "",
            topic_text=optional_text(topic, "topic", 2000),
            zone=checked_zone(zone, "zone"),
            apply=apply,
        )
        stored = behavioral_pb2.SelectionAnswerRequest(user_id=user, request_id=named)
        response: behavioral_pb2.SkillSelectionResponse = await self._session.command(request, user, stored=stored)
        return response

    async def apply_skill(
        self,
        user_id: str,
        system_prompt: str,
        message: str,
        intent: str | None = None,
        sentiment: str | None = None,
        time_of_day: str | None = None,
        topic: str | None = None,
        request_id: str | None = None,
        session_id: str | None = None,
        zone: str | None = None,
    ) -> AppliedSkill:
        """Choose how to answer a message, and append the chosen template to a system prompt.

        The same choice as `select_skill`, whose arguments these are, and with the `request_id` of a choice that choice; the
        application is published on memory/behavioral/skill_applied/v1/, as a mere selection is not. Where no skill
        applies the prompt comes back as it was, and nothing is published.
        """
        prompt = checked_text(system_prompt, "system_prompt", empty=True)
        asked = (user_id, message, intent, sentiment, time_of_day, topic, request_id, session_id, zone)
        response = await self._selected(*asked, apply=True)
        return {
            "prompt": with_template(prompt, response.procedure_template) if response.skill_id else prompt,
            "skill": choice_shape(response),
            "question": response.question,
            "explanation": response.explanation,
            "outcome": response.outcome,
        }

    async def feedback(
        self,
        user_id: str,
        message_id: str,
        skill_id: str,
        reward: int,
        reason: str | None = None,
        free_text: str | None = None,
        request_id: str | None = None,
        event_id: str | uuid.UUID | None = None,
    ) -> FeedbackOutcome:
        """Say whether an answer was good: reward -1, 0 or 1. It changes confidence and preferences at once.

        `request_id` names the selection that led to the answer. With the same `event_id` it counts once, however
        often it is sent. Raises InvalidReward (`invalid_reward`), InvalidFeedback (`validation_error`) for everything else
        that is wrong with it, SkillNotFound (`skill_not_found`).
        """
        with judging():
            user = self._session.user(user_id)
            if reason is not None and reason not in REASONS:
                raise InvalidMessage(f"reason is {reason!r}; allowed are {', '.join(REASONS)}")
            event = behavioral_pb2.FeedbackEvent(
                user_id=user,
                message_id=checked_text(message_id, "message_id", 256),
                skill_id=optional_text(skill_id, "skill_id", 128) if request_id else checked_text(skill_id, "skill_id", 128),
                reward=checked_reward(reward),
                reason=reason or "",
                free_text=optional_text(free_text, "free_text", MAX_FREE_TEXT),
                timestamp=self._session.clock.now_us(),
                request_id=optional_text(request_id, "request_id"),
            )
            given = None if event_id is None else checked_id(event_id, "event_id")
        identifier = given or new_id(event.timestamp)
        stored = behavioral_pb2.FeedbackAnswerRequest(user_id=user, event_id=identifier.bytes)
        result = await self._session.command(event, user, event_id=identifier, stored=stored)
        return {"status": result.status, "skill_updated": result.skill_updated, "new_confidence": result.new_confidence}

    async def set_consent(self, user_id: str, behavioral: bool | None = None, long_term: bool | None = None) -> dict[str, bool]:
        """Allow or forbid learning from a user's behaviour, pause long-term memory; what is None stays. Returns what holds now.

        While `long_term` is off what the user says is kept as records, which are found as before, and nothing is made of it:
        no item is new or changed, by day or by night. What they stated waits and becomes items when it is on again;
        messages that were deleted meanwhile do not.
        """
        user = self._session.user(user_id)
        change = behavioral_pb2.ConsentChanged(user_id=user)
        for name, value in (("behavioral", behavioral), ("long_term", long_term)):
            if value is not None:
                if not isinstance(value, bool):
                    raise InvalidMessage(f"{name} must be True or False")
                setattr(change, name, value)

        async def stands(event_id: uuid.UUID) -> behavioral_pb2.ConsentState:
            # A change that names nothing answers what holds.
            state: behavioral_pb2.ConsentState = await self._session.command(behavioral_pb2.ConsentChanged(user_id=user), user)
            return state

        state = await self._session.command(change, user, recover=stands)
        return {"behavioral": state.behavioral, "long_term": state.long_term}

    async def skills(self, user_id: str) -> list[Skill]:
        """The skills as this user has taught them."""
        user = self._session.user(user_id)
        page = await self._session.ask(behavioral_pb2.SkillsRequest(user_id=user), user)
        return [skill_shape(skill) for skill in page.skills]

    async def preferences(self, user_id: str, bucket: int | None = None) -> list[Preference]:
        """The style a user prefers, per context bucket (all, or the one)."""
        user = self._session.user(user_id)
        if bucket is not None and (isinstance(bucket, bool) or not isinstance(bucket, int) or not 0 <= bucket < 2**32):
            raise InvalidMessage(f"bucket is {bucket!r}; allowed is a whole number from 0")
        request = behavioral_pb2.PreferencesRequest(user_id=user, bucket=bucket)
        answer = await self._session.ask(request, user)
        return [preference_shape(entry) for entry in answer.buckets]

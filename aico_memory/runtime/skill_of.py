"""Feedback on a choice that is made anew in each replay: the chosen skill is filled in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aico_memory.contracts.v1 import behavioral_pb2, envelope_pb2
from aico_memory.errors import DeadlineExceeded, NotFound
from aico_memory.runtime.waiting import until

if TYPE_CHECKING:
    from aico_memory.bus.link import Link

SECONDS = 30.0


def fill_skill(link: Link, user: str, request_id: str, envelope: bytes) -> bytes | None:
    """The feedback's envelope with the skill that was chosen for the request; None where none applied."""
    question = behavioral_pb2.SelectionAnswerRequest(user_id=user, request_id=request_id)

    def chosen() -> Any | None:
        try:
            return link.request(question, user=user).result(SECONDS)
        except (NotFound, DeadlineExceeded):
            return None  # not applied yet

    skill = until(chosen, SECONDS, f"No skill was chosen for {request_id}").skill_id
    if not skill:
        return None
    opened = envelope_pb2.Envelope.FromString(envelope)
    feedback = behavioral_pb2.FeedbackEvent.FromString(opened.payload)
    feedback.skill_id = skill
    opened.payload = feedback.SerializeToString(deterministic=True)
    return opened.SerializeToString(deterministic=True)

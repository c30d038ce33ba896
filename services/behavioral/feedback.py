"""Learning from one feedback event, once."""

from __future__ import annotations

from dataclasses import dataclass, replace

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.domain.behavioral.learning import Knowledge, LearningFigures, Posterior, check_feedback, learn
from aico_memory.domain.behavioral.records import (
    NO_CONSENT,
    SUCCESS,
    UNCHANGED,
    Evolution,
    FeedbackRecord,
    SelectionRecord,
)
from aico_memory.domain.behavioral.situation import bucket_of
from aico_memory.domain.behavioral.skill import Catalogue
from aico_memory.errors import InvalidMessage, SkillNotFound
from aico_memory.stores.behavioral.port import BehavioralRows
from aico_memory.vault.sealer import Sealer

LEARNED = "learned"
# The bucket of feedback that belongs to no known selection.
UNKNOWN_BUCKET = bucket_of("", "", "")


@dataclass(frozen=True, slots=True)
class Judged:
    """What a feedback event led to: its record, and the confidence before it."""

    record: FeedbackRecord
    old_confidence: float
    is_new: bool = True


def answer_of(record: FeedbackRecord) -> behavioral_pb2.FeedbackResult:
    """The answer a feedback event got; the same whenever it is asked for."""
    return behavioral_pb2.FeedbackResult(
        status=record.status, skill_updated=record.skill_updated, new_confidence=record.new_confidence
    )


def judge(rows: BehavioralRows, event: Event, catalogue: Catalogue, figures: LearningFigures, sealer: Sealer) -> Judged:
    """Apply a feedback event to what is stored, and store it; an event id that stands already changes nothing.

    The bucket is that of the selection which `request_id` names, else of the
    user's latest selection of this skill, else that of an unknown situation.
    Each event is evidence of its own: a person who gives another thumb on the
    same message adds to, and does not replace, what the first one taught.
    Raises InvalidReward, InvalidMessage or SkillNotFound; nothing is stored then.
    """
    message, user = event.message, event.user
    standing = rows.feedback(event.event_id)
    if standing is not None:
        return Judged(standing, standing.new_confidence, is_new=False)
    check_feedback(message.reward, message.reason)
    selection = rows.selection(user, message.request_id) if message.request_id else None
    skill = catalogue.get(_judged_skill(message, selection))
    if selection is None:
        selection = rows.latest_selection(user, skill.skill_id)
    bucket = selection.bucket if selection else UNKNOWN_BUCKET
    explored = selection is not None and selection.skill_id == skill.skill_id and selection.is_exploration
    at_us = message.timestamp or event.occurred_us
    state = rows.skill_state(user, skill.skill_id)
    consent = rows.user(user)
    record = FeedbackRecord(user, event.event_id, "", skill.skill_id, 0, at_us, bucket, NO_CONSENT, False, state.confidence)
    if not consent.behavioral:
        # Of the event only its id and answer are kept: nothing of what was judged.
        rows.add_feedback(record)
        return Judged(record, state.confidence)
    posterior = rows.posteriors(user, bucket).get(skill.skill_id, Posterior())
    before = Knowledge(state, posterior, rows.preference(user, bucket))
    after = learn(before, skill.dimensions, message.reward, explored, figures)
    learned = message.reward != 0
    record = replace(
        record,
        message_id=message.message_id,
        reward=message.reward,
        status=SUCCESS if learned else UNCHANGED,
        skill_updated=learned,
        new_confidence=after.state.confidence,
        reason=message.reason,
        sealed_text=sealer.seal(message.free_text.encode(), text_context(event.event_id.bytes)) if message.free_text else None,
        request_id=selection.request_id if selection else message.request_id,
        is_exploration=explored,
    )
    rows.add_feedback(record)
    if selection is not None and selection.skill_id == skill.skill_id:
        rows.reward_trajectory(user, selection.request_id, message.reward)
    if learned:
        rows.put_skill_state(user, skill.skill_id, after.state)
        rows.put_posterior(user, bucket, skill.skill_id, after.posterior, at_us)
        rows.put_preference(user, bucket, after.preference, at_us)
        rows.put_user(user, replace(consent, feedback_count=consent.feedback_count + 1))
        rows.add_evolution(
            Evolution(
                user, event.event_id, 0, LEARNED, skill.skill_id, at_us,
                state.confidence, after.state.confidence, bucket, before,
            )
        )  # fmt: skip
    return Judged(record, state.confidence)


def text_context(event_id: bytes) -> bytes:
    """What a sealed free text is bound to."""
    return b"feedback/text\0" + event_id


def _judged_skill(message: behavioral_pb2.FeedbackEvent, selection: SelectionRecord | None) -> str:
    if message.skill_id:
        return message.skill_id
    if selection is not None and selection.skill_id:
        return selection.skill_id
    if message.request_id:
        raise SkillNotFound(f"No selection of a skill stands under the request id {message.request_id!r}")
    raise InvalidMessage("Neither skill_id nor request_id says which skill is judged", "Give one of them.")

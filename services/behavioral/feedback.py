"""Learning from one feedback event, once."""

from __future__ import annotations

from dataclasses import dataclass, replace

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.domain.behavioral.dimensions import Vector
from aico_memory.domain.behavioral.evidence import Cell, weight_of, wished, with_thumb
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
from aico_memory.errors import InvalidFeedback, SkillNotFound
from aico_memory.stores.behavioral.port import BehavioralRows
from aico_memory.vault.sealer import Sealer
from services.behavioral.own_skills import current_of, learn_dimensions

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


@dataclass(frozen=True, slots=True)
class LearningRules:
    """What one thumb is learned by."""

    figures: LearningFigures
    # Weight for style of a thumb whose reason is the content.
    content_weight: float
    # Part of the way an own skill's style follows the preference per thumb up.
    dimension_rate: float
    # A text of which no threshold is kept counts by the categories that are at least this likely.
    text_threshold: float


def judge(rows: BehavioralRows, event: Event, catalogue: Catalogue, rules: LearningRules, sealer: Sealer) -> Judged:
    """Apply a feedback event to what is stored, and store it; an event id that stands already changes nothing.

    The bucket is that of the selection which `request_id` names, else of the
    user's latest selection of this skill, else that of an unknown situation.
    A thumb that names no request judges that latest selection; one that names a
    request which is not there (any more) takes its situation only.
    Each event is evidence of its own: a person who gives another thumb on the
    same message adds to, and does not replace, what the first one taught.
    Raises InvalidReward, InvalidFeedback or SkillNotFound; nothing is stored then.
    """
    message, user = event.message, event.user
    standing = rows.feedback(event.event_id)
    if standing is not None:
        return Judged(standing, standing.new_confidence, is_new=False)
    check_feedback(message.reward, message.reason)
    named = rows.selection(user, message.request_id) if message.request_id else None
    skill_id = _judged_skill(message, named)
    dimensions = dimensions_of(rows, user, skill_id, catalogue)
    state = rows.skill_state(user, skill_id)
    consent = rows.user(user)
    if not consent.behavioral:
        # Of the event only its id and answer are kept: nothing of what was judged, nor when.
        record = FeedbackRecord(user, event.event_id, "", "", 0, 0, UNKNOWN_BUCKET, NO_CONSENT, False, state.confidence)
        rows.add_feedback(record)
        return Judged(record, state.confidence)
    situation = named or rows.latest_selection(user, skill_id)
    # What is rewarded, and counts as chosen with its chance: never another use than the one that is named.
    use = named if message.request_id else situation
    bucket = situation.bucket if situation else UNKNOWN_BUCKET
    learned = message.reward != 0
    record = FeedbackRecord(
        user=user,
        event_id=event.event_id,
        message_id=message.message_id,
        skill_id=skill_id,
        reward=message.reward,
        at_us=message.timestamp or event.occurred_us,
        bucket=bucket,
        status=SUCCESS if learned else UNCHANGED,
        skill_updated=learned,
        new_confidence=state.confidence,
        reason=message.reason,
        sealed_text=sealer.seal(message.free_text.encode(), text_context(event.event_id.bytes)) if message.free_text else None,
        request_id=use.request_id if use else message.request_id,
        is_exploration=use is not None and use.skill_id == skill_id and use.is_exploration,
        intent=situation.intent if situation else "",
        sentiment=situation.sentiment if situation else "",
        time_of_day=situation.time_of_day if situation else "",
    )
    before = learn_from(rows, record, dimensions, rules) if learned else None
    confidence = rows.skill_state(user, skill_id).confidence
    record = replace(record, new_confidence=confidence)
    rows.add_feedback(record)
    if use is not None and use.skill_id == skill_id:
        rows.reward_trajectory(user, use.request_id, message.reward)
    if before is not None:
        if message.reward > 0 and skill_id not in catalogue:
            learn_dimensions(rows, user, skill_id, rows.preference(user, bucket).dimensions, rules.dimension_rate)
        revised = replace(rows.user(user), feedback_count=consent.feedback_count + 1, revision=event.event_id.hex)
        rows.put_user(user, revised)
        rows.add_evolution(evolved(rows, record, before))
    return Judged(record, state.confidence)


def learn_from(rows: BehavioralRows, record: FeedbackRecord, dimensions: Vector, rules: LearningRules) -> Knowledge:
    """Everything that one thumb up or down teaches, by its record alone; what stood before.

    Confidence, posterior and preference of the bucket by the exact rules; the cell of situation and skill and the
    wishes of the reason for the posterior over styles. The counters of users and the evolution are the caller's.
    """
    user, skill_id = record.user, record.skill_id
    posterior = rows.posteriors(user, record.bucket).get(skill_id, Posterior())
    before = Knowledge(rows.skill_state(user, skill_id), posterior, rows.preference(user, record.bucket))
    after = learn(before, dimensions, record.reward, record.is_exploration, rules.figures)
    rows.put_skill_state(user, skill_id, after.state)
    rows.put_posterior(user, record.bucket, skill_id, after.posterior, record.at_us)
    rows.put_preference(user, record.bucket, after.preference, record.at_us)
    cell = rows.cell(user, Cell(record.intent, record.sentiment, record.time_of_day, skill_id))
    rows.put_cell(user, with_thumb(cell, record.reward, weight_of(record.reason, rules.content_weight)))
    if record.reward < 0:
        standing = {wish.dimension: wish for wish in rows.wishes(user)}
        for wish in wished(standing, record.reward, record.reason, dimensions):
            rows.put_wish(user, wish)
    return before


def evolved(rows: BehavioralRows, record: FeedbackRecord, before: Knowledge) -> Evolution:
    """The change that a thumb made a moment ago, and what stood before it."""
    old, new = before.state.confidence, rows.skill_state(record.user, record.skill_id).confidence
    return Evolution(
        record.user, record.event_id, 0, LEARNED, record.skill_id, record.at_us, old, new, record.bucket, before
    )  # fmt: skip


def dimensions_of(rows: BehavioralRows, user: str, skill_id: str, catalogue: Catalogue) -> Vector:
    """The style of a base skill or of the user's own; SkillNotFound where there is neither."""
    if skill_id not in catalogue:
        own = current_of(rows, user, skill_id)
        if own is not None:
            return own.dimensions
    return catalogue.get(skill_id).dimensions


def style_of(rows: BehavioralRows, user: str, skill_id: str, catalogue: Catalogue) -> Vector | None:
    """The same; None where there is neither."""
    try:
        return dimensions_of(rows, user, skill_id, catalogue)
    except SkillNotFound:
        return None


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
    raise InvalidFeedback("Neither skill_id nor request_id says which skill is judged", "Give one of them.")

"""Changing what a feedback event says: afterwards it teaches what it would have taught from the start."""

from __future__ import annotations

import uuid
from dataclasses import replace

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.domain.behavioral.learning import check_feedback
from aico_memory.domain.behavioral.records import NO_CONSENT, SUCCESS, UNCHANGED, Evolution, FeedbackRecord
from aico_memory.domain.behavioral.skill import Catalogue
from aico_memory.errors import InvalidMessage, NotFound
from aico_memory.stores.behavioral.port import BehavioralRows
from aico_memory.vault.sealer import Sealer
from services.behavioral.feedback import LearningRules, text_context
from services.behavioral.former import keep_former
from services.behavioral.undoing import fold_again, reward_again

EDITED = "edited"


def edit(
    rows: BehavioralRows, event: Event, catalogue: Catalogue, rules: LearningRules, signal_step: float, stated_weight: float,
    sealer: Sealer,
) -> behavioral_pb2.FeedbackResult:  # fmt: skip
    """Apply an `EditFeedback`: its record, and all that was learned, folded again from the feedback that counts.

    Reason and text move preferences anew in the next nightly batch. What it said before is kept for undo. Without consent
    reason and text can be taken away, and nothing else changes: a reason that stays has moved what it has moved.
    Raises InvalidReward, InvalidMessage or NotFound; nothing has changed then.
    """
    message, user = event.message, event.user
    if len(message.event_id) != 16:
        raise InvalidMessage("event_id is no UUID of 16 bytes")
    standing = rows.feedback(uuid.UUID(bytes=message.event_id))
    if standing is None or standing.user != user or standing.status == NO_CONSENT:
        raise NotFound("No feedback of this user stands under this event id")
    if standing.undone_us is not None:
        raise InvalidMessage("This feedback was undone and teaches nothing", "Give another feedback instead.")
    before = rows.user(user)
    if not before.behavioral and not _only_takes_away(message, standing):
        return behavioral_pb2.FeedbackResult(status=NO_CONSENT, new_confidence=standing.new_confidence)
    reward = message.reward if message.HasField("reward") else standing.reward
    reason = message.reason if message.HasField("reason") else standing.reason
    check_feedback(reward, reason)
    changed = replace(
        standing, reward=reward, reason=reason, status=SUCCESS if reward else UNCHANGED, skill_updated=reward != 0,
        signalled_us=None if before.behavioral or not reason else standing.signalled_us,
    )  # fmt: skip
    if message.HasField("free_text"):
        sealed = sealer.seal(message.free_text.encode(), text_context(message.event_id)) if message.free_text else None
        changed = replace(
            changed, sealed_text=sealed, categories=None, classified_us=None, classified_by="", text_threshold=None
        )
    keep_former(rows, event, standing)
    rows.change_feedback(changed)
    reward_again(rows, user, [(changed.request_id, changed.skill_id)])
    left = fold_again(rows, user, catalogue, rules, signal_step, stated_weight)
    rows.put_user(user, replace(before, feedback_count=left, revision=event.event_id.hex))
    confidence = rows.skill_state(user, standing.skill_id).confidence
    rows.change_feedback(replace(changed, new_confidence=confidence))
    old, new = float(standing.reward), float(reward)
    rows.add_evolution(Evolution(user, event.event_id, 0, EDITED, standing.skill_id, event.occurred_us, old, new))
    return behavioral_pb2.FeedbackResult(status=changed.status, skill_updated=reward != 0, new_confidence=confidence)


def _only_takes_away(message: behavioral_pb2.EditFeedback, standing: FeedbackRecord) -> bool:
    """Reason, text or both, and says nothing else in their place."""
    stays = not message.HasField("reward") or message.reward == standing.reward
    taken = message.HasField("reason") or message.HasField("free_text")
    return stays and taken and not message.free_text and message.reason in {"", standing.reason}

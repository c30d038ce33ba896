"""What feedback said before it was edited, and how an undo lets it say that again."""

from __future__ import annotations

import uuid
from dataclasses import replace

from aico_memory.contracts.envelope import Event
from aico_memory.domain.behavioral.records import TAKEN_BACK_US, FeedbackRecord, FormerFeedback
from aico_memory.stores.behavioral.port import BehavioralRows


def keep_former(rows: BehavioralRows, event: Event, standing: FeedbackRecord) -> None:
    """Keep what a feedback event says, before an `EditFeedback` changes it. Its words are not kept: who edits them means it."""
    former = FormerFeedback(
        user=standing.user,
        event_id=standing.event_id,
        edited_us=event.occurred_us,
        cause=event.event_id,
        same_text=not event.message.HasField("free_text"),
        reward=standing.reward,
        status=standing.status,
        new_confidence=standing.new_confidence,
        reason=standing.reason,
        signalled_us=standing.signalled_us,
        categories=standing.categories,
        classified_us=standing.classified_us,
        classified_by=standing.classified_by,
        text_threshold=standing.text_threshold,
    )
    rows.add_former(former)


def say_again(rows: BehavioralRows, user: str, until_us: int) -> int:
    """Let feedback that was given by then say what it said then, whatever was edited since; how many say something else now."""
    edits = rows.former_feedback(user, until_us)
    first: dict[uuid.UUID, FormerFeedback] = {}
    for one in edits:
        first.setdefault(one.event_id, one)
    changed = {one.event_id for one in edits if not one.same_text}
    again = 0
    for event_id, former in first.items():
        standing = rows.feedback(event_id)
        if standing is not None and standing.undone_us is None and standing.at_us <= until_us:
            rows.change_feedback(as_then(standing, former, event_id not in changed))
            again += 1
    rows.forget_former(user, until_us)
    return again


def as_then(standing: FeedbackRecord, former: FormerFeedback, same_text: bool) -> FeedbackRecord:
    """The record as it was. A reason that a night has acted on since is not acted on again; words that were edited are gone."""
    moved_since = former.signalled_us is None and standing.signalled_us is not None
    found = replace(
        standing,
        reward=former.reward,
        status=former.status,
        skill_updated=former.reward != 0,
        new_confidence=former.new_confidence,
        reason=former.reason,
        signalled_us=TAKEN_BACK_US if moved_since else former.signalled_us,
    )
    if same_text:
        return found
    return replace(
        found,
        sealed_text=None,
        categories=former.categories,
        classified_us=former.classified_us,
        classified_by=former.classified_by,
        text_threshold=former.text_threshold,
    )

"""Taking back what was learned: everything is folded again from the feedback that still counts."""

from __future__ import annotations

import uuid
from dataclasses import replace

from aico_memory.contracts.envelope import Event
from aico_memory.domain.behavioral.learning import SkillState
from aico_memory.domain.behavioral.records import Evolution, FeedbackRecord
from aico_memory.domain.behavioral.skill import Catalogue
from aico_memory.errors import InvalidMessage, NotFound, SkillNotFound
from aico_memory.stores.behavioral.port import BehavioralRows
from services.behavioral.feedback import LearningRules, dimensions_of, learn_from
from services.behavioral.signals import move_preference

UNDONE = "undone"


def undo(rows: BehavioralRows, event: Event, catalogue: Catalogue, rules: LearningRules, signal_step: float) -> tuple[int, int]:
    """Take back the thumbs after `until_us`, or delete the one of `event_id`; how many went, how many still count.

    Afterwards the user's knowledge is exactly what it would be had only the remaining feedback been given.
    Raises InvalidMessage or NotFound; nothing has changed then.
    """
    message, user = event.message, event.user
    if message.event_id:
        if len(message.event_id) != 16:
            raise InvalidMessage("event_id is no UUID of 16 bytes")
        if not rows.delete_feedback(user, uuid.UUID(bytes=message.event_id)):
            raise NotFound("No feedback of this user stands under this event id")
        gone = 1
    else:
        if message.until_us < 0:
            raise InvalidMessage(f"until_us is {message.until_us}", "Give Unix microseconds, or 0 for everything.")
        gone = rows.take_back(user, message.until_us, event.occurred_us)
    left = fold_again(rows, user, catalogue, rules, signal_step)
    before = rows.user(user)
    rows.put_user(user, replace(before, feedback_count=left, revision=event.event_id.hex))
    rows.add_evolution(
        Evolution(user, event.event_id, 0, UNDONE, "feedback", event.occurred_us, float(before.feedback_count), float(left))
    )
    return gone, left


def fold_again(
    rows: BehavioralRows, user: str, catalogue: Catalogue, rules: LearningRules, signal_step: float
) -> int:  # fmt: skip
    """Forget what was learned and learn it again from the feedback that counts, in its order; how many thumbs.

    Moves of the nightly batch come after the thumbs that were applied before them. How often skills were selected is
    no learned thing and stays.
    """
    rows.forget_learned(user)
    for skill_id, state in rows.skill_states(user).items():
        kept = SkillState(selected=state.selected, explored=state.explored, last_used_us=state.last_used_us)
        rows.put_skill_state(user, skill_id, kept)
    counting = [one for one in rows.feedback_of(user) if one.undone_us is None and one.skill_updated]
    steps: list[tuple[int, int, int, FeedbackRecord]] = []
    for place, record in enumerate(counting):
        steps.append((record.at_us, 0, place, record))
        if record.signalled_us is not None:
            steps.append((max(record.signalled_us, record.at_us), 1, place, record))
    thumbs = 0
    # By time, so that a move of the nightly batch lies where it lay; thumbs keep the order they were applied in.
    latest = 0
    ordered = []
    for at_us, kind, place, record in steps:
        latest = max(latest, at_us) if kind == 0 else latest
        ordered.append((latest if kind == 0 else at_us, kind, place, record))
    for _, kind, _, record in sorted(ordered, key=lambda step: step[:3]):
        try:
            dimensions = dimensions_of(rows, user, record.skill_id, catalogue)
        except SkillNotFound:
            continue
        if kind == 0:
            learn_from(rows, record, dimensions, rules)
            thumbs += 1
        else:
            move_preference(rows, record, dimensions, signal_step, record.at_us)
    return thumbs

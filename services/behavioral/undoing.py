"""Taking back what was learned: everything is folded again from the feedback that still counts and what was stated."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from aico_memory.contracts.envelope import Event
from aico_memory.domain.behavioral.dimensions import Vector
from aico_memory.domain.behavioral.learning import SkillState
from aico_memory.domain.behavioral.records import NO_CONSENT, Evolution, FeedbackRecord
from aico_memory.domain.behavioral.skill import Catalogue
from aico_memory.errors import InvalidMessage, NotFound
from aico_memory.stores.behavioral.port import BehavioralRows
from aico_memory.vault.sealer import Sealer
from services.behavioral.feedback import LEARNED, LearningRules, evolved, learn_from
from services.behavioral.former import say_again
from services.behavioral.own_styles import OwnStyles
from services.behavioral.signals import move_by_text, move_preference
from services.behavioral.standing import stand_again
from services.behavioral.stating import STATED, UNDONE, apply_stated, standing_statements

# At one moment thumbs come first, then what the night made of them (of texts before reasons, as it does), then what a person
# said, and then what they deleted.
_THUMB, _TEXT, _MOVE, _STATEMENT, _DELETION = range(5)
# A skill's id: it was deleted.
_What = FeedbackRecord | Evolution | str


def undo(
    rows: BehavioralRows,
    event: Event,
    catalogue: Catalogue,
    rules: LearningRules,
    signal_step: float,
    stated_weight: float,
    sealer_of: Callable[[str], Sealer],
) -> tuple[int, int, int]:
    """Take back what was learned or stated after `until_us`, or delete the thumb of `event_id`.

    Of thumbs that stay goes what the night made of them later, and no night makes it again; what was edited says what it
    said then. How many thumbs went or say something else again, how many still count, and how many skills stand as they
    stood then (see `standing.stand_again`).
    Afterwards the user's knowledge, its course over time and the rewards of uses are exactly what they would be had only
    the remaining feedback been given and the remaining styles been stated.
    Raises InvalidMessage or NotFound; nothing has changed then.
    """
    message, user, stood = event.message, event.user, 0
    judged = {(one.request_id, one.skill_id) for one in rows.feedback_of(user) if counts(one)}
    if message.event_id:
        if len(message.event_id) != 16:
            raise InvalidMessage("event_id is no UUID of 16 bytes")
        if not rows.delete_feedback(user, uuid.UUID(bytes=message.event_id)):
            raise NotFound("No feedback of this user stands under this event id")
        gone = 1
    else:
        if message.until_us < 0:
            raise InvalidMessage(f"until_us is {message.until_us}", "Give Unix microseconds, or 0 for everything.")
        again = say_again(rows, user, message.until_us)
        gone = again + rows.take_back(user, message.until_us, event.occurred_us)
        until = float(message.until_us)
        rows.add_evolution(Evolution(user, event.event_id, 1, UNDONE, STATED, event.occurred_us, until, until))
        stood = stand_again(rows, event, catalogue, sealer_of)
    reward_again(rows, user, judged)
    left = fold_again(rows, user, catalogue, rules, signal_step, stated_weight)
    before = rows.user(user)
    rows.put_user(user, replace(before, feedback_count=left, revision=event.event_id.hex))
    rows.add_evolution(
        Evolution(user, event.event_id, 0, UNDONE, "feedback", event.occurred_us, float(before.feedback_count), float(left))
    )
    return gone, left, stood


def counts(record: FeedbackRecord) -> bool:
    """Whether a feedback event stands and says how an answer was: no consent left only its id."""
    return record.undone_us is None and record.status != NO_CONSENT


def reward_again(rows: BehavioralRows, user: str, judged: Iterable[tuple[str, str]]) -> None:
    """Give uses (request, skill) the reward of the last thumb on them that stands; None where there is none any more."""
    latest = {(one.request_id, one.skill_id): one.reward for one in rows.feedback_of(user) if counts(one)}
    for request_id, skill_id in sorted(judged):
        use = rows.trajectory(user, request_id) if request_id else None
        reward = latest.get((request_id, skill_id))
        if use is not None and use.skill_id == skill_id and use.reward != reward:
            rows.reward_trajectory(user, request_id, reward)


def fold_again(
    rows: BehavioralRows, user: str, catalogue: Catalogue, rules: LearningRules, signal_step: float, stated_weight: float
) -> int:
    """Forget what was learned and learn it again from the feedback that counts, in its order; how many thumbs.

    Moves of the nightly batch come after the thumbs that were applied before them, statements where they were made. Skills
    of the person's own have the style that they had then, as far as it is learned by then; what one was known for goes
    where it was deleted. How often skills were selected is no learned thing and stays.
    """
    rows.forget_learned(user)
    rows.forget_evolution(user, LEARNED)
    styles = OwnStyles(rows, user)
    selected = {
        skill_id: SkillState(selected=state.selected, explored=state.explored, last_used_us=state.last_used_us)
        for skill_id, state in rows.skill_states(user).items()
    }
    for skill_id, state in selected.items():
        rows.put_skill_state(user, skill_id, state)
    thumbs = 0
    for moment_us, kind, step in _steps(rows, user, styles):
        style_of = partial(_style_at, styles, catalogue, moment_us)
        if isinstance(step, Evolution):
            apply_stated(rows, step, stated_weight, style_of)
            continue
        if isinstance(step, str):
            rows.forget_skill(user, step)
            if step in selected:
                rows.put_skill_state(user, step, selected[step])
            continue
        dimensions = style_of(step.skill_id)
        if dimensions is None:
            continue
        if kind == _THUMB:
            before = learn_from(rows, step, dimensions, rules)
            rows.add_evolution(evolved(rows, step, before))
            if step.reward > 0 and step.skill_id not in catalogue:
                liked = rows.preference(user, step.bucket).dimensions
                styles.like(step.skill_id, moment_us, liked, rules.dimension_rate)
            thumbs += 1
        elif kind == _MOVE:
            move_preference(rows, step, dimensions, signal_step, step.at_us)
        else:
            move_by_text(rows, step, dimensions, rules, signal_step, step.at_us)
    styles.keep()
    return thumbs


def _style_at(styles: OwnStyles, catalogue: Catalogue, moment_us: int, skill_id: str) -> Vector | None:
    return catalogue.get(skill_id).dimensions if skill_id in catalogue else styles.at(skill_id, moment_us)


def _steps(rows: BehavioralRows, user: str, styles: OwnStyles) -> list[tuple[int, int, _What]]:
    """What is learned from, when, in its order: by time, so that a move of the nightly batch lies where it lay."""
    counting = [one for one in rows.feedback_of(user) if one.undone_us is None]
    # Thumbs keep the order they were applied in.
    steps: list[tuple[int, int, int, _What]] = []
    latest = 0
    for place, record in enumerate(counting):
        if record.skill_updated:
            latest = max(latest, record.at_us)
            steps.append((latest, _THUMB, place, record))
        # No night's time: none came yet, or its work was taken back.
        if record.signalled_us:
            steps.append((max(record.signalled_us, record.at_us), _MOVE, place, record))
        if record.classified_us:
            steps.append((max(record.classified_us, record.at_us), _TEXT, place, record))
    for place, change in enumerate(standing_statements(rows.evolution_of(user))):
        steps.append((change.at_us, _STATEMENT, place, change))
    steps += [(when_us, _DELETION, 0, skill_id) for skill_id, ends in styles.deletions.items() for when_us in ends]
    return [(moment_us, kind, step) for moment_us, kind, _, step in sorted(steps, key=lambda one: one[:3])]

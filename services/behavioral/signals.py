"""Preference signals of the nightly batch: what reasons and texts say of a dimension moves the bucket's preference."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace

from aico_memory.domain.behavioral.dimensions import DIMENSIONS, Vector, clamp
from aico_memory.domain.behavioral.evidence import CONTENT, Cell, Wish, wishes_of, wishes_of_text, with_wish
from aico_memory.domain.behavioral.records import FeedbackRecord, counting_from
from aico_memory.domain.behavioral.skill import Catalogue
from aico_memory.domain.feedback.classifier import matching
from aico_memory.errors import SkillNotFound
from aico_memory.stores.behavioral.port import BehavioralRows
from services.behavioral.feedback import LearningRules, dimensions_of

# So many feedback events are read at a time.
_BATCH = 10_000


def signal(rows: BehavioralRows, catalogue: Catalogue, step: float, cause: uuid.UUID, at_us: int) -> int:
    """Move preferences by every reason that has not yet done so; how many did. Each does it once.

    What was said by somebody who has put learning off waits until it is on again.
    """
    moved = 0
    for record in rows.unsignalled(_BATCH):
        rows.signalled(record.event_id, at_us)
        try:
            dimensions = dimensions_of(rows, record.user, record.skill_id, catalogue)
        except SkillNotFound:
            continue
        if not move_preference(rows, record, dimensions, step, at_us):
            continue
        moved += 1
        if not record.reward:
            rows.put_user(record.user, replace(rows.user(record.user), revision=cause.hex))
    return moved


def move_preference(rows: BehavioralRows, record: FeedbackRecord, dimensions: Vector, step: float, at_us: int) -> bool:
    """Move the dimensions that the reason names, each by `step`, clamped to 0..1; whether it names any.

    A reason counts with a thumb down and with a neutral one. What it wishes was heard with the thumb down at once; a neutral
    one taught nothing then, and its wishes come with the move.
    """
    wishes = wishes_of(record.reason, dimensions) if record.reward <= 0 else {}
    if not wishes:
        return False
    _move(rows, record, wishes, step, at_us)
    if not record.reward:
        _wish(rows, record.user, wishes)
    return True


def move_by_text(
    rows: BehavioralRows, record: FeedbackRecord, dimensions: Vector, rules: LearningRules, step: float, at_us: int
) -> bool:  # fmt: skip
    """The same by what the text says, and the wishes of the posterior with it; praise with a thumb up wishes nothing.

    A text counts with a thumb down and with a neutral one: who says "a bit long" without a thumb has said it. Where it
    says that the content was wrong, and nothing of the style, the thumb counts as little for the style as with that
    reason.
    """
    if record.reward > 0 or record.categories is None:
        return False
    said = matching(record.categories, counting_from(record, rules.text_threshold))
    wishes = wishes_of_text(said, wishes_of(record.reason, dimensions), dimensions)
    if not wishes:
        return CONTENT in said and _take_back_style(rows, record, rules.content_weight)
    _move(rows, record, wishes, step, at_us)
    _wish(rows, record.user, wishes)
    return True


def _take_back_style(rows: BehavioralRows, record: FeedbackRecord, content_weight: float) -> bool:
    """What the thumb down counted beyond the weight of wrong content; whether it had counted for style at all."""
    if not record.skill_updated or record.reason:
        # A reason beside the text has its own weight: wrong content already, anything else meant the style.
        return False
    empty = Cell(record.intent, record.sentiment, record.time_of_day, record.skill_id)
    cell = rows.cell(record.user, empty)
    rows.put_cell(record.user, replace(cell, negative=max(0.0, cell.negative - (1.0 - content_weight))))
    return True


def _wish(rows: BehavioralRows, user: str, wishes: Mapping[str, int]) -> None:
    standing = {wish.dimension: wish for wish in rows.wishes(user)}
    for name, direction in wishes.items():
        rows.put_wish(user, with_wish(standing.get(name, Wish(name)), direction))


def _move(rows: BehavioralRows, record: FeedbackRecord, wishes: Mapping[str, int], step: float, at_us: int) -> None:
    preference = rows.preference(record.user, record.bucket)
    moved = tuple(
        clamp(value + step * wishes.get(name, 0)) for name, value in zip(DIMENSIONS, preference.dimensions, strict=True)
    )
    rows.put_preference(record.user, record.bucket, replace(preference, dimensions=moved), at_us)

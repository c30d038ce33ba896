"""Preference signals of the nightly batch: what reasons say of a dimension moves the bucket's preference."""

from __future__ import annotations

from dataclasses import replace

from aico_memory.domain.behavioral.dimensions import DIMENSIONS, Vector, clamp
from aico_memory.domain.behavioral.evidence import wishes_of
from aico_memory.domain.behavioral.records import FeedbackRecord
from aico_memory.domain.behavioral.skill import Catalogue
from aico_memory.errors import SkillNotFound
from aico_memory.stores.behavioral.port import BehavioralRows
from services.behavioral.feedback import dimensions_of

# So many feedback events are read at a time.
_BATCH = 10_000


def signal(rows: BehavioralRows, catalogue: Catalogue, step: float, at_us: int) -> int:
    """Move preferences by every reason that has not yet done so; how many did. Each does it once."""
    moved = 0
    for record in rows.unsignalled(_BATCH):
        rows.signalled(record.event_id, at_us)
        if not (record.skill_updated and rows.user(record.user).behavioral):
            continue
        try:
            dimensions = dimensions_of(rows, record.user, record.skill_id, catalogue)
        except SkillNotFound:
            continue
        moved += move_preference(rows, record, dimensions, step, at_us)
    return moved


def move_preference(rows: BehavioralRows, record: FeedbackRecord, dimensions: Vector, step: float, at_us: int) -> bool:
    """Move the dimensions that the reason names, each by `step`, clamped to 0..1; whether it names any."""
    wishes = wishes_of(record.reason, dimensions) if record.reward < 0 else {}
    if not wishes:
        return False
    preference = rows.preference(record.user, record.bucket)
    moved = tuple(
        clamp(value + step * wishes.get(name, 0)) for name, value in zip(DIMENSIONS, preference.dimensions, strict=True)
    )
    rows.put_preference(record.user, record.bucket, replace(preference, dimensions=moved), at_us)
    return True

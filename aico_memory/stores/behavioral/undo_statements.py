"""The statements of undo: thumbs and moves of the night that are taken back, and what feedback said before an edit."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any

from aico_memory.domain.behavioral.records import FormerFeedback

FORMER = (
    "user_id, event_id, edited_us, cause, same_text, reward, status, new_confidence, reason, signalled_us, categories, "
    "classified_us, classified_by, text_threshold"
)
TAKE_BACK = """
UPDATE feedback SET undone_us = ?
WHERE user_id = ? AND at_us > ? AND undone_us IS NULL AND status <> 'no_consent'
"""
# What the night made later of thumbs that stay.
TAKE_BACK_SIGNALS = "UPDATE feedback SET signalled_us = 0 WHERE user_id = ? AND signalled_us > ?"
TAKE_BACK_TEXTS = "UPDATE feedback SET classified_us = 0 WHERE user_id = ? AND classified_us > ?"
FORMER_SINCE = f"SELECT {FORMER} FROM former_feedback WHERE user_id = ? AND edited_us > ? ORDER BY edited_us, position"


def packed_categories(categories: Mapping[str, float] | None) -> str | None:
    """As a column holds them."""
    return None if categories is None else json.dumps(dict(categories), sort_keys=True)


def former_row(former: FormerFeedback) -> tuple[object, ...]:
    return (
        former.user, former.event_id.bytes, former.edited_us, former.cause.bytes, int(former.same_text), former.reward,
        former.status, former.new_confidence, former.reason, former.signalled_us, packed_categories(former.categories),
        former.classified_us, former.classified_by, former.text_threshold,
    )  # fmt: skip


def former_of(row: Any) -> FormerFeedback:
    found = dict(zip(FORMER.split(", "), row, strict=True))
    found["user"] = found.pop("user_id")
    found["event_id"], found["cause"] = uuid.UUID(bytes=found["event_id"]), uuid.UUID(bytes=found["cause"])
    found["same_text"] = bool(found["same_text"])
    found["categories"] = None if found["categories"] is None else json.loads(found["categories"])
    return FormerFeedback(**found)

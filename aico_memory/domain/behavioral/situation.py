"""The situation a skill is chosen for: intent, sentiment, time of day, nearness of topics, and its bucket."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from aico_memory.errors import InvalidMessage
from aico_memory.ids import stable_hash64

BUCKETS: Final = 100
MORNING, AFTERNOON, EVENING, NIGHT = TIMES_OF_DAY = ("morning", "afternoon", "evening", "night")
# First hour (local, 0..23) of each part of the day; before the first one it is night.
_STARTS: tuple[tuple[int, str], ...] = ((22, NIGHT), (17, EVENING), (12, AFTERNOON), (5, MORNING))
UNKNOWN: Final = ""


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known about the moment.

    `nearness` by skill id: the topic cosine where vectors were at hand; of own topics, the share of words in common where
    the model does not speak the language.
    """

    intent: str = UNKNOWN
    sentiment: str = UNKNOWN
    time_of_day: str = UNKNOWN
    nearness: Mapping[str, float] = field(default_factory=dict)

    @property
    def bucket(self) -> int:
        """The context bucket of this situation."""
        return bucket_of(self.intent, self.sentiment, self.time_of_day)


def label(text: str) -> str:
    """A label as it is compared: case folded, inner blanks and hyphens as underscores."""
    return "_".join(text.casefold().replace("-", " ").split())


def part_of_day(hour: int) -> str:
    """Morning from 5, afternoon from 12, evening from 17, night from 22 (local hour, 0..23)."""
    return next((name for start, name in _STARTS if hour >= start), NIGHT)


def checked_time_of_day(text: str) -> str:
    """The part of the day that a caller names; InvalidMessage for any other word."""
    given = label(text)
    if given not in TIMES_OF_DAY:
        raise InvalidMessage(f"time_of_day is {text!r}", f"Give one of {', '.join(TIMES_OF_DAY)}, or leave it out.")
    return given


def bucket_of(intent: str, sentiment: str, time_of_day: str) -> int:
    """Bucket 0..99: a stable 64-bit digest of `intent|sentiment|time of day`, modulo 100.

    Python's own `hash` would give another bucket in every process.
    """
    return stable_hash64(f"{label(intent)}|{label(sentiment)}|{label(time_of_day)}") % BUCKETS

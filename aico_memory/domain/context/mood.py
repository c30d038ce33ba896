"""How whoever asks feels, as their last messages tell it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

REQUEST, CONVERSATION = "request", "conversation"
# Letters of a message that are read: people say how they feel in a few words, and a pasted text tells of nobody's mood.
_READ = 500
_MINUTE_US = 60_000_000


class Said(NamedTuple):
    """A message of whoever asks."""

    text: str
    # Unix microseconds.
    at_us: int


class Mood(NamedTuple):
    """Valence −1..1, and who told it: `request`, `conversation`, or "" where nothing does."""

    valence: float = 0.0
    told_by: str = ""
    # When a message that it rests on is too old, in Unix microseconds; 0: never.
    until_us: int = 0


def mood_of(
    query: str, said: Sequence[Said], valence_of: Callable[[str], float], *, messages: int, minutes: float, now_us: int
) -> Mood:
    """The mood of the last messages, the question first, each with half the weight of the next.

    `said` is in the order of saying. What is older than `minutes` says nothing of now; messages without any feeling count,
    so that a mood fades as people talk of other things. `messages` 0: none is read.
    """
    life_us = round(minutes * _MINUTE_US)
    asked = query.strip()
    recent = [one for one in reversed(said) if now_us - life_us < one.at_us and one.text.strip() != asked]
    read = recent[: max(0, messages - 1)] if messages else []
    texts = [asked, *(one.text for one in read)] if messages else []
    felt = [valence_of(text[:_READ]) for text in texts]
    if not any(felt):
        return Mood()
    weights = [0.5**place for place in range(len(felt))]
    valence = sum(weight * one for weight, one in zip(weights, felt, strict=True)) / sum(weights)
    return Mood(round(valence, 3), CONVERSATION, _first_end(read, felt[1:], life_us))


def _first_end(read: Sequence[Said], felt: Iterable[float], life_us: int) -> int:
    return min((one.at_us + life_us for one, feeling in zip(read, felt, strict=True) if feeling), default=0)

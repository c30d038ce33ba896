"""Retention: how likely a memory is still recalled, and how a use makes it last.

FSRS-6 with the default weights of the `fsrs` library. Its `review_card` is used
as it stands, for cards in the state Review: an item has no learning steps. Times
are Unix microseconds, stability is in days.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from fsrs import Card, Rating, Scheduler, State

from aico_memory.clock import EPOCH
from aico_memory.domain.kinds import days_between
from aico_memory.domain.memory import Memory, restated
from aico_memory.settings.memory_model import RetentionSettings

_FSRS: Final = Scheduler(enable_fuzzing=False)
_DECAY: Final[float] = -_FSRS.parameters[20]
# So that R = 0.9 at t = S.
_FACTOR: Final[float] = 0.9 ** (1 / _DECAY) - 1


def retrievability(stability: float, days: float) -> float:
    """R = (1 + F·t/S)^−0.1542, F = 0.9803: the power law of FSRS-6, for any part of a day.

    Equal to the library on whole days (it cuts the rest off). 0 for what was
    never encoded.
    """
    if stability <= 0:
        return 0.0
    return float((1 + _FACTOR * max(days, 0.0) / stability) ** _DECAY)


def days_until(stability: float, retrieved: float) -> float:
    """Days after which R has fallen to `retrieved`: the curve above, solved for t."""
    return float(stability / _FACTOR * (retrieved ** (1 / _DECAY) - 1))


def last_access_us(memory: Memory) -> int:
    """When it was last retrieved; before any retrieval, when it was made."""
    return max(memory.last_accessed_us, memory.created_at_us)


def retrieval_strength(memory: Memory, now_us: int) -> float:
    """R of a memory; computed, never stored (Bjork & Bjork 1992 keep it apart from storage strength)."""
    return retrievability(memory.stability, days_between(last_access_us(memory), now_us))


def encoded(memory: Memory, figures: RetentionSettings, rating: Rating = Rating.Good) -> Memory:
    """With the initial stability and difficulty of FSRS-6 for that rating; a flashbulb lasts longer."""
    card, _ = _FSRS.review_card(_card(State.Learning, None, None, EPOCH), rating, EPOCH)
    assert card.stability is not None
    factor = figures.flashbulb_factor if memory.flashbulb else 1.0
    return replace(
        memory, stability=_limited(card.stability * factor, figures), difficulty=card.difficulty or 0.0,
        storage_strength=figures.storage_lowest,
    )  # fmt: skip


def used(memory: Memory, at_us: int, figures: RetentionSettings, rating: Rating = Rating.Good) -> Memory:
    """One retrieval: stability and difficulty by FSRS-6, storage strength up unless it failed (`Again`), access + 1."""
    if memory.stability <= 0:
        memory = encoded(memory, figures, rating)
    storage = memory.storage_strength
    if rating != Rating.Again:
        storage = stored(storage, retrieval_strength(memory, at_us), figures)
    at = _moment(max(at_us, last_access_us(memory)))
    before = _card(State.Review, memory.stability, memory.difficulty, _moment(last_access_us(memory)))
    card, _ = _FSRS.review_card(before, rating, at)
    assert card.stability is not None and card.difficulty is not None
    return replace(
        memory, stability=_limited(card.stability, figures), difficulty=card.difficulty, storage_strength=storage,
        access_count=memory.access_count + 1, last_accessed_us=max(at_us, memory.last_accessed_us),
    )  # fmt: skip


def stored(storage: float, retrieved: float, figures: RetentionSettings) -> float:
    """s + g·(1 − R/2)·(highest − s)/(highest − lowest): grows with every successful retrieval and never decays.

    The form is ours; that a retrieval adds the more the less accessible the
    memory was, and the less the stronger it is, is Bjork & Bjork 1992.
    """
    room = (figures.storage_highest - storage) / (figures.storage_highest - figures.storage_lowest)
    return min(figures.storage_highest, storage + figures.storage_gain * (1 - retrieved / 2) * max(room, 0.0))


def strengthened(memory: Memory, factor: float, figures: RetentionSettings) -> Memory:
    """Stability times a factor (capture, co-activation, neighbours, rehearsal), under the limit."""
    return restated(memory, stability=_limited(memory.stability * factor, figures))


@dataclass(frozen=True, slots=True)
class Endangered:
    """A memory about to be lost, and how far it is."""

    memory: Memory
    retrievability: float


def endangered(memories: Iterable[tuple[Memory, int]], now_us: int, figures: RetentionSettings) -> tuple[Endangered, ...]:
    """Active memories under the threshold that were not rehearsed in this period, the weakest first, a cycle's worth.

    Each comes with the time of its last rehearsal (0: never), so that a second
    pass in the same period finds nothing to do.
    """
    rested_before_us = now_us - round(figures.rehearsal_period_hours * 3_600_000_000)
    found = [
        Endangered(memory, retrieved)
        for memory, rehearsed_us in memories
        if memory.status == "active" and memory.stability > 0 and (not rehearsed_us or rehearsed_us <= rested_before_us)
        if (retrieved := retrieval_strength(memory, now_us)) < figures.endangered_below
    ]
    found.sort(key=lambda one: (one.retrievability, one.memory.memory_id))
    return tuple(found[: figures.rehearsals_per_cycle])


def rehearsed(memory: Memory, figures: RetentionSettings) -> Memory:
    """Replayed in sleep: lasts longer, but was not used (specification 5, phase 6)."""
    return strengthened(memory, figures.rehearsal_factor, figures)


def _card(state: State, stability: float | None, difficulty: float | None, last_review: datetime) -> Card:
    # Id and due time are given, since the library would otherwise ask the clock.
    return Card(card_id=0, state=state, stability=stability, difficulty=difficulty, due=last_review, last_review=last_review)


def _moment(us: int) -> datetime:
    return EPOCH + timedelta(microseconds=us)


def _limited(stability: float, figures: RetentionSettings) -> float:
    return min(stability, figures.stability_limit_days) if math.isfinite(stability) else figures.stability_limit_days

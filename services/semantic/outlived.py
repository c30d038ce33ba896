"""Which records say what is over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from aico_memory.domain.memory import OPEN, RECORD, Memory, View
from aico_memory.domain.retrieval.outlived import over_since
from aico_memory.stores.semantic.retrieval_port import RetrievalReads


class Outlived(NamedTuple):
    """Since when what records state is over, in Unix microseconds, by their ids; those of which it is not known are missing."""

    since: dict[bytes, int]
    # When the next of them will be; 0: not foreseen.
    turns_us: int = 0


def outlived(retrieval: RetrievalReads, told: Iterable[tuple[Memory, Sequence[bytes]]], view: View) -> Outlived:
    """The same of what is `told`: memories with the events they rest on; all but records of messages are passed over.

    What was known at an earlier moment is not looked up: as it was known then, it may have held.
    """
    if view.known_as_of_us:
        return Outlived({})
    records = [(one, events[0]) for one, events in told if one.kind == RECORD and not one.version_of and events]
    made = retrieval.made_of([event_id for _, event_id in records], view.scopes) if records else {}
    at_us = view.as_of_us or view.now_us
    ever = {one.memory_id: over_since(one.said_at_us, made.get(event_id, ()), OPEN) for one, event_id in records}
    return Outlived(
        {memory_id: moment for memory_id, moment in ever.items() if 0 < moment <= at_us},
        0 if view.as_of_us else min((moment for moment in ever.values() if at_us < moment < OPEN), default=0),
    )

"""Which items have a place beside each other, so that no words give way to what has none itself."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence, Set

from aico_memory.domain.context.diversity import SAID_BY_ITEM, Dropped, Likeness, capped, diversified, once_each
from aico_memory.domain.context.items import ContextItem
from aico_memory.domain.memory import record_of


def placed(
    items: Sequence[ContextItem], likeness: Likeness, *, covered: float, ignored: Set[str], weight: float, most: int,
    most_of_kind: int,
) -> tuple[list[ContextItem], Dropped]:  # fmt: skip
    """Items given best first, each once, diverse, and not too many of a kind; and what is left out by which rule.

    Of what is one too many of its kind the words it was made of have a place.
    """
    crowded = Dropped()
    while True:
        kept, repeated = once_each(items, covered=covered, ignored=ignored)
        kept, more = capped(diversified(kept, likeness, weight=weight, most=most), most_of_kind)
        crowded += more
        if not more or not any(rule == SAID_BY_ITEM for _, rule in repeated):
            return kept, [*repeated, *crowded]
        gone = {id_ for id_, _ in more}
        items = [item for item in items if item.id not in gone]


def silencing(items: Iterable[ContextItem], without: Set[str], dropped: Dropped) -> bool:
    """Whether one of the items `without` a place after all was made of words that gave way to an item."""
    gone = {id_ for id_, rule in dropped if rule == SAID_BY_ITEM}
    events = (event for item in items if item.id in without for event in item.evidence) if gone else ()
    return any(str(uuid.UUID(bytes=record_of(event))) in gone for event in events)

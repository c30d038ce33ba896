"""Messages that answer nothing by their words: people have decided otherwise about what was made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from aico_memory.domain.gate.statement import Known
from aico_memory.domain.memory import OPEN, Evidence
from aico_memory.domain.recall.from_items import TAKEN_BACK, UNSEEN
from aico_memory.domain.sleep.derived import is_derived

# Waiting for a reviewer, turned down by one, deleted, or taken back.
_WITHHELD: Final = UNSEEN | {"invalid"}


def withheld(items: Iterable[Known], known_us: int) -> dict[bytes, int]:
    """Items whose messages are not read, each with the moment of saying (us) up to which that holds of its messages.

    `items` are all of a scope, former texts too. What a person put into other words at `known_us` at the latest is told
    in these: the messages that said it before are read no more, those that confirm it afterwards are. What sleep wrote or
    tidied away was nobody's decision.
    """
    found: dict[bytes, int] = {}
    for known in items:
        memory = known.memory
        if memory.version_of is not None:
            if memory.invalidated_at_us <= known_us:
                until_us = max(memory.invalidated_at_us, memory.said_at_us)
                found[memory.version_of] = max(found.get(memory.version_of, 0), until_us)
        elif memory.status in _WITHHELD and memory.variant_of is None and not is_derived(memory):
            found[memory.memory_id] = OPEN
    return found


def taken_back(items: Iterable[Known], known_us: int) -> frozenset[int]:
    """When what had been taken back by `known_us` was said (us)."""
    gone = (known.memory for known in items if known.memory.status == TAKEN_BACK)
    return frozenset(memory.said_at_us for memory in gone if memory.invalidated_at_us <= known_us)


def events_of(bounds: Mapping[bytes, int], proofs: Mapping[bytes, Sequence[Evidence]]) -> frozenset[bytes]:
    """The events whose messages are not read, by what the items of `bounds` rest on."""
    return frozenset(
        one.event_id for memory_id, until_us in bounds.items() for one in proofs[memory_id] if one.said_at_us <= until_us
    )

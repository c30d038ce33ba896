"""The trust lifecycle, the anchors, and the three ways in which an item stops being true.

A *change* ("I moved") supersedes: it was true until then. A *retraction* ("that was
never true") disables: it is no longer believed, for any time. A *withdrawal* (a person
deletes) makes invalid; it is a demand and no judgement, so it is no step of trust.
Each keeps the item, and what was believed before stays known.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from aico_memory.domain.memory import OPEN, Memory
from aico_memory.errors import ImmutableItem, InvalidMessage, RefusedTransition

# Specification 2, "Trust lifecycle".
TRANSITIONS: Final[Mapping[str, frozenset[str]]] = {
    "candidate": frozenset({"active", "shadow", "invalid"}),
    "shadow": frozenset({"active", "invalid"}),
    "active": frozenset({"superseded", "expired", "disabled"}),
    "superseded": frozenset({"active"}),
    "expired": frozenset({"active"}),
    "disabled": frozenset({"active"}),
    "invalid": frozenset(),
}


def require_transition(status: str, to: str) -> None:
    """RefusedTransition, naming both states, where the one does not lead to the other."""
    if to not in TRANSITIONS[status]:
        ways = ", ".join(sorted(TRANSITIONS[status])) or "nothing"
        raise RefusedTransition(f"{status} does not lead to {to}", f"From {status} an item can become: {ways}.")


def require_way(status: str, to: str) -> None:
    """RefusedTransition where neither a step leads there nor the way by active.

    What is folded anew from all that was said goes by active: the step that had been taken holds no more, another one does.
    """
    if status != to and to not in TRANSITIONS[status]:
        require_transition(status, "active")
        require_transition("active", to)


def reaches_prompt(memory: Memory) -> bool:
    """Only what is active is put into a prompt, and only that is reinforced."""
    return memory.status == "active"


def may_fade(memory: Memory) -> bool:
    """Whether forgetting, trimming and demotion may touch it."""
    return not (memory.pinned or memory.immutable)


def require_changeable(memory: Memory) -> None:
    """ImmutableItem where no edit, merge or supersession is allowed: a contradiction becomes a candidate instead."""
    if memory.immutable:
        raise ImmutableItem(f"The memory {uuid.UUID(bytes=memory.memory_id)} is immutable")


def activated(memory: Memory, at_us: int, evidence_count: int) -> Memory:
    """Promoted from review, or brought back by an operator or a strong hit. What comes back is open again.

    Raises RefusedTransition; InvalidMessage where nothing proves the item.
    """
    require_transition(memory.status, "active")
    if evidence_count < 1:
        raise InvalidMessage(
            f"{memory.status} does not lead to active without evidence", "Add evidence for the item, then promote it."
        )
    back = memory.status in {"superseded", "expired"}
    until_us = OPEN if back else memory.valid_until_us
    return replace(
        memory, status="active", valid_until_us=until_us, invalidated_at_us=OPEN, superseded_by=None, updated_at_us=at_us
    )


def shadowed(memory: Memory, at_us: int) -> Memory:
    """A candidate that operators see and nobody is told."""
    require_transition(memory.status, "shadow")
    return replace(memory, status="shadow", updated_at_us=at_us)


def rejected(memory: Memory, at_us: int) -> Memory:
    """A candidate or shadow that review refused; it was never believed."""
    require_transition(memory.status, "invalid")
    return replace(memory, status="invalid", invalidated_at_us=memory.recorded_at_us, updated_at_us=at_us)


def superseded(memory: Memory, by: bytes, ended_at_us: int, known_at_us: int) -> Memory:
    """True until `ended_at_us`, as was learned at `known_at_us`; an end before its start: it was never true.

    What is superseded reaches no prompt from now on, even where its end still lies ahead.
    """
    require_transition(memory.status, "superseded")
    require_changeable(memory)
    until_us = min(memory.valid_until_us, max(ended_at_us, memory.valid_from_us))
    return replace(
        memory, status="superseded", valid_until_us=until_us, invalidated_at_us=known_at_us, superseded_by=by,
        updated_at_us=known_at_us,
    )  # fmt: skip


def expired(memory: Memory, ended_at_us: int, known_at_us: int) -> Memory:
    """Past its validity or its time to live; true until `ended_at_us`."""
    require_transition(memory.status, "expired")
    until_us = min(memory.valid_until_us, max(ended_at_us, memory.valid_from_us))
    return replace(memory, status="expired", valid_until_us=until_us, invalidated_at_us=known_at_us, updated_at_us=known_at_us)


def retracted(memory: Memory, known_at_us: int) -> Memory:
    """It was never true, or an operator switched it off: believed until `known_at_us`, for no time since."""
    require_transition(memory.status, "disabled")
    require_changeable(memory)
    return replace(memory, status="disabled", invalidated_at_us=known_at_us, updated_at_us=known_at_us)


def withdrawn(memory: Memory, at_us: int) -> Memory:
    """A person's deletion, from any state; a second one changes nothing. Raises ImmutableItem."""
    require_changeable(memory)
    if memory.status == "invalid":
        return memory
    invalidated_us = min(memory.invalidated_at_us, at_us)
    return replace(memory, status="invalid", invalidated_at_us=invalidated_us, updated_at_us=at_us)

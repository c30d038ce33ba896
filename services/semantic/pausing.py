"""Whether items may change at all, by policy and by the person's own will."""

from __future__ import annotations

from aico_memory.domain.gate.policy import WritePolicy
from aico_memory.stores.semantic.item_port import ItemReads


def is_held(reads: ItemReads, policy: WritePolicy, owner: str) -> bool:
    """Whether what a person says makes and changes nothing now: by the emergency switch, or in a pause of theirs."""
    return policy.read_only or bool(reads.paused_us(owner))

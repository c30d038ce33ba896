"""Who has anything in long-term memory, and how much of it is in use."""

from __future__ import annotations

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import sleep_pb2
from aico_memory.domain.memory import RECORD
from aico_memory.stores.semantic.sleep_port import SleepReads, Tally

_PAGE = 200


class Sleepers:
    """Answers from what is committed; in a thread of its own."""

    def __init__(self, reads: SleepReads) -> None:
        self._reads = reads

    def page(self, event: Event) -> sleep_pb2.SleepersPage:
        """Owners by name with counts; those asked for by name are answered in any case."""
        message: sleep_pb2.SleepersRequest = event.message
        limit = min(message.limit or _PAGE, _PAGE)
        if message.user_ids:
            wanted = sorted({one for one in message.user_ids if one > message.after})
            owners, following = wanted[:limit], wanted[limit:]
        else:
            found = self._reads.owners(message.after, limit + 1)
            owners, following = found[:limit], found[limit:]
        counted = {owner: sleep_pb2.Sleeper(user_id=owner) for owner in owners}
        for tally in self._reads.tallies(owners):
            _count(counted[tally.owner], tally)
        return sleep_pb2.SleepersPage(users=counted.values(), next=owners[-1] if following else "")


def _count(sleeper: sleep_pb2.Sleeper, tally: Tally) -> None:
    sleeper.last_us = max(sleeper.last_us, tally.last_us)
    if tally.kind == RECORD:
        sleeper.records += tally.memories
    elif tally.status != "active":
        # What awaits review has not begun.
        sleeper.ended += 0 if tally.status in {"candidate", "shadow"} else tally.memories
    elif tally.tier == "dormant":
        sleeper.dormant += tally.memories
    else:
        sleeper.active += tally.memories
        for share in (f"tier.{tally.tier}", f"kind.{tally.kind}"):
            sleeper.shares[share] += tally.memories

"""Port of what assembling a context asks of L1 beside the ranking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from aico_memory.domain.memory import Evidence, Memory, Scope
from aico_memory.stores.semantic.item_port import Vector


@dataclass(frozen=True, slots=True)
class HotTier:
    """Which items are at hand whatever is asked."""

    utility: float
    uses: int
    # Confirmed since, Unix microseconds.
    since_us: int
    limit: int


class RetrievalReads(Protocol):
    """Reads of the store. Every one names its scopes."""

    def hot(self, scopes: Sequence[Scope], tier: HotTier, now_us: int) -> list[Memory]:
        """Active items in force at `now_us` that are useful, often used and fresh; by utility, then by uses.

        Pinned constraints come first, whatever their use.
        """

    def vectors_of(self, memory_ids: Sequence[bytes], fingerprint: str) -> dict[bytes, Vector]:
        """The vectors of these memories' present texts; those without one are missing."""

    def sources_of(self, memory_ids: Sequence[bytes], most: int) -> dict[bytes, list[Evidence]]:
        """What each rests on, oldest first, replays left out, at most so many; only the first with its sealed details."""

    def around(self, memory: Memory, limit: int) -> tuple[list[Memory], list[Memory]]:
        """Records of the same scope and conversation said before and after it, nearest first, at most `limit` each."""

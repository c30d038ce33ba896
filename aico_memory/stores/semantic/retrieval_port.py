"""Port of what assembling a context asks of L1 beside the ranking."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from aico_memory.domain.memory import Evidence, Memory, Scope
from aico_memory.domain.retrieval.outlived import Made


@dataclass(frozen=True, slots=True)
class HotTier:
    """Which items are at hand whatever is asked."""

    utility: float
    uses: int
    # Confirmed since, Unix microseconds.
    since_us: int
    limit: int


class Sources(NamedTuple):
    """What a memory rests on: its oldest evidence whole, and the ids of all its events, oldest first."""

    first: Evidence | None
    event_ids: tuple[bytes, ...]


NO_SOURCES = Sources(None, ())


class RetrievalReads(Protocol):
    """Reads of the store. Every one names its scopes."""

    def hot(self, scopes: Sequence[Scope], tier: HotTier, now_us: int) -> list[Memory]:
        """Active items in force at `now_us` that are useful, often used and fresh; by utility, then by uses.

        Pinned constraints come first, whatever their use.
        """

    def sources_of(self, owners: Mapping[bytes, str], most: int) -> dict[bytes, Sources]:
        """What each of these memories rests on, by whose it is, replays left out; at most `most` events of each."""

    def made_of(self, event_ids: Collection[bytes], scopes: Sequence[Scope]) -> dict[bytes, list[Made]]:
        """The items of the scopes that rest on each of these events, replays left out; events without any are missing."""

    def hold(self, keys: Sequence[int]) -> None:
        """Have these memories, by their rows, and what they rest on at hand, as far as there is room for them."""

    def told(
        self, memories: Sequence[Memory], sources: Mapping[bytes, Sources], tell: Callable[[Memory, Sources], bytes]
    ) -> list[bytes]:
        """What `tell` makes of each memory and of its sources, in their order; it may be asked once for the same two."""

    def forget_destroyed(self) -> None:
        """Keep nothing in memory of those whose keys are gone. To be called now and then."""

    def around(self, memory: Memory, limit: int) -> tuple[list[Memory], list[Memory]]:
        """Records of the same scope and conversation said before and after it, nearest first, at most `limit` each."""

    def withdrawn(self, scopes: Sequence[Scope], limit: int) -> list[bytes]:
        """Ids of records that were deleted, those received last first."""

    def edited(self, scopes: Sequence[Scope], limit: int) -> list[Memory]:
        """Records that say something else than they first did, those received last first."""

"""What a context is told whatever it asks: hot items, pinned constraints, and which records a person deleted or edited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from aico_memory.contracts.v1 import context_pb2
from aico_memory.domain.memory import Condition, Memory, Scope, admits
from aico_memory.stores.semantic.retrieval_port import HotTier, RetrievalReads
from services.semantic.convert import id_text

# Pinned constraints that take part where the hot tier does not.
CONSTRAINT, _PINNED = "constraint", 15
# Deleted and edited records that are named: of turns that are still held in mind, none is older.
_DECIDED = 1000


class AtHand(NamedTuple):
    """Items, ids of records that were deleted, and records that were edited as they are now."""

    hot: Sequence[Memory]
    withdrawn: Sequence[bytes]
    edited: Sequence[Memory]

    def tell(self, answer: context_pb2.Candidates) -> None:
        """Fill it in."""
        answer.hot.extend(id_text(memory.memory_id) for memory in self.hot)
        answer.withdrawn.extend(self.withdrawn)
        for memory in self.edited:
            answer.edited.add(record_id=memory.memory_id, text=memory.text)


def at_hand(
    retrieval: RetrievalReads, request: context_pb2.CandidatesRequest, scopes: Sequence[Scope], asked: Sequence[Condition],
    now_us: int,
) -> AtHand:  # fmt: skip
    """What is at hand. `asked`: the moment that is asked about."""
    tier = HotTier(request.hot_utility, request.hot_uses, request.hot_since_us, request.hot_items or _PINNED)
    hot = retrieval.hot(scopes, tier, request.as_of_us or now_us)
    if not request.hot_items or request.as_of_us or request.known_as_of_us:
        # What is at hand now says nothing of another time; a pinned constraint stands there where it held then.
        hot = [one for one in hot if one.pinned and one.kind == CONSTRAINT and admits(asked, one)]
    edited = [] if request.known_as_of_us else retrieval.edited(scopes, _DECIDED)
    return AtHand(hot, retrieval.withdrawn(scopes, _DECIDED), edited)

"""What one ranked list is taken from, and which of it matches where words alone decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aico_memory.domain.retrieval.question import Question
from aico_memory.domain.retrieval.ranking import Profile
from aico_memory.stores.index import fused_search


@dataclass(frozen=True, slots=True)
class Listed:
    """What one list is taken from, and by which weights."""

    question: Question
    table: fused_search.Table
    weights: Profile
    of_kinds: bool = False

    def best(self, limit: int) -> list[fused_search.Found]:
        """The `limit` best rows that the question may have, best first."""
        return fused_search.best(self.table, self.weights, limit, of_kinds=self.of_kinds)


def matching(found: Sequence[fused_search.Found], weights: Profile) -> list[fused_search.Found]:
    """The same; 0 is the score of what shares nothing with the question where words alone decide, whatever the offset.

    What sleep wrote has no words of its own here (`place` below zero): it is no match where nothing is.
    """
    speaking = {one.key for one in found if weights.speaks_for(one.features)}
    return [one if one.key in speaking or (one.place < 0 and speaking) else one._replace(score=0.0) for one in found]

"""Whether two items that lie close to each other say the same, so that one of them may rest."""

from __future__ import annotations

from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.gate.statement import Known
from aico_memory.domain.recall.matching import stems


def say_the_same(left: Known, right: Known) -> bool:
    """The same reading, the object in whatever form, or the same words but for case and signs; of one person and kind.

    Likeness alone is no ground: "likes tea" and "likes coffee", or the birthdays of two people, are as
    close as two wordings of one thing, and the one that rests is not found any more by its value.
    """
    one, other = left.memory, right.memory
    if (one.kind, one.scope, one.owner, one.speaker) != (other.kind, other.scope, other.owner, other.speaker):
        return False
    if left.predicate and right.predicate:
        of_one = (normalise_fact_key(left.subject), left.predicate) == (normalise_fact_key(right.subject), right.predicate)
        return of_one and stems(left.object_key, one.language) == stems(right.object_key, one.language)
    return normalise_fact_key(one.text) == normalise_fact_key(other.text)

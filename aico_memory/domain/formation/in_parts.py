"""A sentence that tells nothing as a whole, read once more part by part: talk strings what is told behind what is chatted."""

from __future__ import annotations

import re
from collections.abc import Callable

from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.succession import Statements

# Before what the speaker says of themselves.
_OWN = re.compile(
    r"(?:[,;:](?: (?:and|but|so|plus|because))?| (?:but|so|because)) "
    r"(?=(?:it turns out |turns out )?(?:I|[Ww]e|[Mm]y|[Oo]ur)\b)"
    # "The bond between us and our pets" is one thing.
    r"| and (?=(?:it turns out )?(?:I|we)\b)"
)
# What is only supposed, asked or told by others stays whole.
_SUPPOSED = re.compile(
    r"(?i)\b(?:if|unless|suppose|wish|would|could|should|might|whether|says?|said|thinks?|thought|told|asked|imagine|dreamt|dreamed)\b|\?$"
)


def read_in_parts(
    result: Statements, sentence: str, grammar: Grammar, tables: FormationTables, read: Callable[[str], None]
) -> None:
    """Reads the sentence; where that tells nothing, each of its parts that speaks of the speaker in its own right.

    Of a part only what has a known name is kept: whatever else is done beside chat is mostly chat.
    """
    before = len(result.facts), len(result.plans)
    read(sentence)
    nothing = (len(result.facts), len(result.plans)) == before and not result.pending
    if nothing and grammar.parser == "english" and not _SUPPOSED.search(sentence):
        parts = _OWN.split(sentence)
        for part in parts[1:]:
            read(part)
        result.facts[before[0] :] = [
            fact for fact in result.facts[before[0] :] if fact.predicate in tables.predicates or ":" in fact.predicate
        ]

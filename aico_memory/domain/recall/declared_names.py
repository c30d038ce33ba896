"""Who stands for whom: "my sister" for Lena, where the speaker has named one sister."""

from __future__ import annotations

from collections.abc import Sequence

from aico_memory.domain.formation.attributes import ATTRIBUTE
from aico_memory.domain.formation.formed import SPEAKER, FormedFact


def aliases(facts: Sequence[FormedFact]) -> dict[str, str]:
    """ "sister" -> "lena", where the speaker has named exactly one sister."""
    named: dict[str, set[str]] = {}
    for fact in facts:
        if (
            fact.subject == SPEAKER
            and fact.predicate.startswith(ATTRIBUTE)
            and fact.act in ("assert", "correct")
            and fact.value
            and not fact.value[:1].isdigit()
        ):
            # "The fee is 20 euros" gives no fee a name.
            named.setdefault(fact.predicate.removeprefix(ATTRIBUTE), set()).add(fact.value.casefold())
    return {noun: next(iter(values)) for noun, values in named.items() if len(values) == 1}

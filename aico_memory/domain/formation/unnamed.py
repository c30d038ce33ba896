"""Names of what nobody has any longer: "I don't have a cat", "we sold the boat"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from aico_memory.domain.formation.attributes import ATTRIBUTE
from aico_memory.domain.formation.formed import SPEAKER, FormedFact
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.succession import Statements
from aico_memory.domain.formation.wording import lower_in

NAMELESS = frozenset({"pet", "owns"})


def named_no_more(
    result: Statements, start: int, sentence: str, earlier: Iterable[Sequence[FormedFact]], grammar: Grammar
) -> None:
    """ "I don't have a cat": then none has a name; nor has the boat that is sold, where one was told."""
    none = any(mark.search(sentence) for mark in grammar.marks["has_none"])
    gone = [one for one in result.facts[start:] if one.predicate in NAMELESS and one.act in ("end", "retract") and one.value]
    told: list[FormedFact] | None = None
    for fact in gone:
        noun = lower_in(fact.value, grammar.code)
        name = f"{ATTRIBUTE}{grammar.synonyms.get(noun, noun)}"
        if none and noun in grammar.relations:
            result.facts.append(replace(fact, predicate=name, value="", object_key="", corrected="", kind="profile"))
        elif fact.subject == SPEAKER and noun not in grammar.relations:
            if told is None:
                told = [one for facts in earlier for one in facts] + result.facts[:start]
            named = any(one.predicate == name and one.subject == SPEAKER and one.value[:1].isupper() for one in told)
            if named:
                result.facts.append(replace(fact, predicate=name, value="", object_key="", corrected=""))

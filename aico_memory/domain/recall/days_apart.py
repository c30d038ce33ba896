"""Days of the week that are kept as one value ("Mondays and Wednesdays"), told apart where they answer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.wording import lower_in, trim
from aico_memory.domain.recall.mirrored import Mirrored
from aico_memory.domain.recall.timeline import Held

# What stands behind a day that comes again: "Mondays", "montags", "pazartesi günleri", "pazartesileri".
_AGAIN = re.compile(r"(?:s|lar[ıi]?|ler[ıi]?)$")
_COUNTED = frozenset({"gün", "günü", "günler", "günleri"})


def days_in(value: str, grammar: Grammar) -> list[str]:
    """The days of a list that holds nothing else, as they are written; empty where it is none of two or more."""
    found: list[str] = []
    for word in value.replace(",", " ").replace("&", " ").split():
        low = lower_in(trim(word), grammar.code)
        if low in grammar.words["listing"] or low in _COUNTED:
            continue
        if low not in grammar.calendar.weekdays and _AGAIN.sub("", low) not in grammar.calendar.weekdays:
            return []
        found.append(trim(word))
    return found if len(found) > 1 else []


def facts_apart(facts: Iterable[Held], grammar: Grammar) -> list[Held]:
    """The facts, one for each day where their value is a list of days."""
    return [part for one in facts for part in _fact_apart(one, grammar)]


def words_apart(words: Iterable[Mirrored], grammar: Grammar) -> list[Mirrored]:
    """The same of what messages say."""
    return [replace(one, value=day) for one in words for day in days_in(one.value, grammar) or [one.value]]


def _fact_apart(held: Held, grammar: Grammar) -> list[Held]:
    def told(day: str) -> Held:
        fact = replace(held.fact, value=day, object_key=normalise_fact_key(day), single_valued=False)
        return replace(held, statement=replace(held.statement, fact=fact))

    return [told(day) for day in days_in(held.fact.value, grammar)] or [held]

"""Amounts that are told now of a thing, now as what it is: one of them takes the place of the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from aico_memory.domain.formation.attributes import ATTRIBUTE
from aico_memory.domain.formation.formed import SPEAKER, FormedFact

PRICE = "price"


def same_quantity(fact: FormedFact, held: Callable[[str, str], Sequence[object]]) -> FormedFact:
    """ "The fee costs 20 euros", "the fee was raised to 25 euros": one amount, under the predicate under which it is known."""
    noun = fact.predicate.removeprefix(ATTRIBUTE)
    if not any(letter.isdigit() for letter in fact.value) or held(fact.subject, fact.predicate):
        return fact
    if fact.subject == SPEAKER and noun != fact.predicate and held(noun, PRICE):
        return replace(fact, subject=noun, predicate=PRICE)
    if fact.predicate == PRICE and held(SPEAKER, ATTRIBUTE + fact.subject):
        return replace(fact, subject=SPEAKER, predicate=ATTRIBUTE + fact.subject)
    return fact

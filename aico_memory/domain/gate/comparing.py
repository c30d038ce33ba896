"""How a new statement stands to a known item: same key, same subject and predicate, contradiction."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.gate.statement import CLOSING, Known, Neighbour, Statement

_NUMBER: Final = re.compile(r"\d+(?:[.,:/-]\d+)*")
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


class Comparison(NamedTuple):
    """`contradiction` names what contradicts; empty where nothing does."""

    neighbour: Neighbour
    same_key: bool
    same_subject_predicate: bool
    same_value: bool
    contradiction: str


class Wording(NamedTuple):
    """What is looked at in a text without a reading."""

    words: frozenset[str]
    numbers: frozenset[str]
    negated: bool


def compare(new: Statement, neighbour: Neighbour, negations: frozenset[str], same_wording: float) -> Comparison:
    """`negations` are the words that negate, of all languages of the scope."""
    fact, known = new.fact, neighbour.known
    if fact.predicate and known.predicate:
        # Names of predicates are canonical; subjects are compared as the keys compare them.
        same = fact.predicate == known.predicate and normalise_fact_key(fact.subject) == normalise_fact_key(known.subject)
        meant = (fact.corrected or fact.object_key) if fact.act in CLOSING else fact.object_key
        same_value = same and meant == known.object_key
        same_key = same and (fact.single_valued or same_value)
        other = same_key and not same_value
        return Comparison(neighbour, same_key, same, same_value, "another object of a single-valued predicate" if other else "")
    same_text = new.key == known.memory.fact_key or normalise_fact_key(fact.text) == normalise_fact_key(known.memory.text)
    # One reading alone says nothing of the other side: only the wording can be compared.
    found = "" if same_text else wording_contradicts(fact.text, known.memory.text, negations, same_wording)
    return Comparison(neighbour, same_text, False, same_text, found)


def wording_of(text: str, negations: frozenset[str]) -> Wording:
    """Words, numbers (dates and times among them) and whether it is negated."""
    words = frozenset(word.casefold() for word in _WORD.findall(text))
    return Wording(words - negations, frozenset(_NUMBER.findall(text)), bool(words & negations))


def wording_contradicts(new: str, old: str, negations: frozenset[str], same_wording: float) -> str:
    """ "negation" or "changed number or date" between two texts that otherwise say the same; else empty."""
    left, right = wording_of(new, negations), wording_of(old, negations)
    every = len(left.words | right.words)
    if not every or len(left.words & right.words) / every < same_wording:
        return ""
    if left.negated != right.negated:
        return "negation"
    if left.numbers and right.numbers and not (left.numbers <= right.numbers or right.numbers <= left.numbers):
        return "changed number or date"
    return ""


def is_closest(known: Known) -> bool:
    """Only what is believed, or was, is compared; a candidate is not yet anything."""
    return known.memory.status in {"active", "superseded", "expired"} and known.memory.variant_of is None

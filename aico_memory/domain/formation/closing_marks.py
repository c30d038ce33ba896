"""Whether the words of a message tell that something is over, or that something said before was wrong.

Most wrong invalidations are made by readers who take a statement about something for its end. A model's word alone
ends nothing: the message must have a negation, a mark or a verb of ending in a language that is known.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.wording import even, lower_in

_WORD: Final = re.compile(r"[^\W\d_]+")
_ENDING_MARKS: Final = ("ended", "no_more", "denied", "retract", "contrast")
_ENDING_WORDS: Final = ("lost", "cancels", "perish")
_CORRECTING_MARKS: Final = ("correct", "contrast", "retract", "denied")
_HEAD: Final = re.compile(r"(?:\w+:\s*)?(?:\(([^)]*)\)|([^\W\d_]+))")


def tells_an_end(sentence: str, grammar: Grammar | None, tables: FormationTables) -> bool:
    """A negation, a mark of an end, or a verb that ends what it speaks of; False in a language without grammar."""
    if grammar is None:
        return False
    lowered = lower_in(even(sentence), grammar.code)
    words = _WORD.findall(lowered)
    signals = tables.signals.get(grammar.code)
    if signals and any(word in signals.negations for word in words):
        return True
    if _marked(lowered, grammar, _ENDING_MARKS):
        return True
    lemmas = {grammar.verbs.get(word, word) for word in words}
    if any(grammar.has(group, word) for group in _ENDING_WORDS for word in (*words, *lemmas)):
        return True
    return not lemmas.isdisjoint(_ending_verbs(grammar.code, _Tables(tables)))


def tells_a_correction(text: str, grammar: Grammar | None, tables: FormationTables) -> bool:
    """A mark of a correction somewhere in the message, or a negation."""
    if grammar is None:
        return False
    lowered = lower_in(even(text), grammar.code)
    signals = tables.signals.get(grammar.code)
    by_signal = signals is not None and (
        any(mark.search(lowered) for mark in signals.correction)
        or any(word in signals.negations for word in _WORD.findall(lowered))
    )
    return by_signal or _marked(lowered, grammar, _CORRECTING_MARKS)


def _marked(lowered: str, grammar: Grammar, names: tuple[str, ...]) -> bool:
    return any(mark.search(lowered) for name in names for mark in grammar.marks.get(name, ()))


class _Tables:
    """The tables by identity, so that what is drawn from them is drawn once."""

    def __init__(self, tables: FormationTables) -> None:
        self.tables = tables

    def __hash__(self) -> int:
        return id(self.tables)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Tables) and other.tables is self.tables


@lru_cache(maxsize=64)
def _ending_verbs(code: str, held: _Tables) -> frozenset[str]:
    """Verbs with which predicates end and with which none is asserted ("quit", but not "move")."""
    ends: set[str] = set()
    asserts: set[str] = set()
    for predicate in held.tables.predicates.values():
        surface = predicate.surfaces.get(code)
        for pattern in surface.say if surface else ():
            head = _HEAD.match(pattern.source.strip())
            verbs = re.findall(r"[^\W\d_]+", head[1] or head[2]) if head else []
            (ends if pattern.act == "end" else asserts).update(verbs)
    return frozenset(ends - asserts)

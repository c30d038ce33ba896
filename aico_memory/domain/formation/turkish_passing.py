"""What a Turkish clause tells of the moment and ends nothing: "bugün kahve içmiyorum", "Samsun'dan çıktım, yarın dönerim"."""

from __future__ import annotations

import re

from aico_memory.domain.formation.attributes import Found
from aico_memory.domain.formation.fitting import EMPLOYER
from aico_memory.domain.formation.frames import Frame
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.kinds_of_things import is_a
from aico_memory.domain.formation.turkish_phrases import own_noun
from aico_memory.domain.formation.wording import lower_in, squeeze

# What one does again and again: not to do it at one time of day, or not often, is still to do it.
HABITS = frozenset({"drinks", "eats", "not_drunk", "not_eaten", "hobby", "plays", "uses", "training", "reading", "commute", "smokes"})
HAD = frozenset({"owns", "pet", "car", "phone", "computer", "camera"})
_GET = "al"
# What tells that somebody is in or out, and not that anything is over.
_OUT = "çık"


def passing(found: Found, frame: Frame, tables: FormationTables, grammar: Grammar) -> bool:
    """Whether a clause that reads as an end or a denial speaks of an hour, a day or a degree only."""
    if grammar.parser != "turkish":
        return False
    if found.act == "end" and frame.verb == _OUT and found.predicate == EMPLOYER:
        return _only_went_out(found.value, tables, grammar)
    if found.predicate in HAD and frame.verb == _GET and _is_for_somebody(found.value, grammar):
        return True
    if not frame.negated or found.predicate not in HABITS or frame.never:
        return False
    if set(frame.times) - frame.bounds and not frame.ended:
        # "Cuma günleri et yemiyorum"
        return True
    said = lower_in(squeeze(frame.text), grammar.code)
    return any(mark.search(said) for mark in grammar.marks["narrowed"])


def _is_for_somebody(value: str, grammar: Grammar) -> bool:
    """ "Kızıma telefon aldım": hers."""
    whom = re.match(r"^(?P<k>[^\W\d]+m(?:[ıiuü]z)?)[ae]$", lower_in(value.partition(" ")[0], grammar.code))
    return whom is not None and own_noun(whom["k"], grammar) in grammar.relations


def _only_went_out(value: str, tables: FormationTables, grammar: Grammar) -> bool:
    """ "Marketten çıktım", "Samsun'dan çıktım": out of a shop or a town; "Migros'tan çıktım" quits."""
    low = lower_in(value, grammar.code)
    works = low in tables.predicates[EMPLOYER].surfaces[grammar.code].nouns or is_a(value, "workplace", tables, grammar)
    return low in grammar.words["provinces"] or (value[:1].islower() and not works)

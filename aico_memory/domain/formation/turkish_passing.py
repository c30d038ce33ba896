"""What a Turkish clause tells of the moment and ends nothing: "bugün kahve içmiyorum", "Samsun'dan çıktım, yarın dönerim"."""

from __future__ import annotations

import re

from aico_memory.domain.formation.attributes import Found
from aico_memory.domain.formation.fitting import EMPLOYER, HAD
from aico_memory.domain.formation.frames import Frame
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.kinds_of_things import is_a
from aico_memory.domain.formation.turkish_phrases import own_noun
from aico_memory.domain.formation.turkish_words import maybe_cases, split_case
from aico_memory.domain.formation.wording import lower_in, squeeze

# What one does again and again: not to do it at one time of day, or not often, is still to do it.
HABITS = frozenset(
    {"drinks", "eats", "not_drunk", "not_eaten", "hobby", "plays", "uses", "training", "reading", "commute", "smokes"}
)
_GET, _GIVE, _THERE_IS = "al", "ver", "var"
# What tells that somebody is in or out, and not that anything is over.
_OUT = "çık"


def passing(found: Found, frame: Frame, sentence: str, tables: FormationTables, grammar: Grammar) -> bool:
    """Whether a clause that reads as an end or a denial speaks of an hour, a day or a degree only."""
    if grammar.parser != "turkish":
        return False
    if found.act == "end" and frame.verb == _OUT and found.predicate == EMPLOYER:
        return bool(set(frame.times) - frame.bounds) or _only_went_out(found.value, tables, grammar)
    if found.predicate in HAD and frame.verb == _GET and _is_for_somebody(found.value, grammar):
        return True
    if found.act == "end" and frame.verb == _GIVE and found.predicate in HAD:
        return _is_handed_in(frame, grammar)
    for_now = frame.bounds and any(mark.search(lower_in(sentence, grammar.code)) for mark in grammar.marks["for_now"])
    # "Mart sonuna kadar yüzme yok"
    at_a_time = bool(set(frame.times) - frame.bounds or for_now) and not frame.ended
    if frame.negated and frame.verb == _THERE_IS and found.predicate == "owns":
        # "Bu ay tenis yok"
        return at_a_time
    if not frame.negated or found.predicate not in HABITS or frame.never:
        return False
    if at_a_time or any(split_case(word)[0] == "@de" for word in frame.rest.split()):
        # "Cuma günleri et yemiyorum", "ofiste sigara içmiyorum"
        return True
    said = lower_in(squeeze(frame.text), grammar.code)
    return any(mark.search(said) for mark in grammar.marks["narrowed"])


def _is_for_somebody(value: str, grammar: Grammar) -> bool:
    """ "Kızıma telefon aldım": hers."""
    whom = re.match(r"^(?P<k>[^\W\d]+m(?:[ıiuü]z)?)[ae]$", lower_in(value.partition(" ")[0], grammar.code))
    return whom is not None and own_noun(whom["k"], grammar) in grammar.relations


def _is_handed_in(frame: Frame, grammar: Grammar) -> bool:
    """ "Arabayı servise verdim": it comes back from there."""
    to = (stem for word in frame.rest.split() if word[:1].islower() for case, stem in maybe_cases(word) if case == "@e")
    return any(lower_in(stem, grammar.code) in grammar.words["repairs"] for stem in to)


def _only_went_out(value: str, tables: FormationTables, grammar: Grammar) -> bool:
    """ "Marketten çıktım", "Samsun'dan çıktım": out of a shop or a town; "Migros'tan çıktım" quits."""
    low = lower_in(value, grammar.code)
    works = low in tables.predicates[EMPLOYER].surfaces[grammar.code].nouns or is_a(value, "workplace", tables, grammar)
    return low in grammar.words["provinces"] or (value[:1].islower() and not works)

"""What the noun says and the name behind it: "I bought a new car, a Kia", "I have a new favourite dish: lamb biryani"."""

from __future__ import annotations

from collections.abc import Iterator

from aico_memory.domain.formation.attributes import Found, cut, predicate_of
from aico_memory.domain.formation.frames import Frame, shorten
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.kinds_of_things import is_a
from aico_memory.domain.formation.wording import lower_in

_GETTING = frozenset({"have", "get", "haben", "bekommen"})
_HAVING = frozenset({"buy", "adopt", "own", "drive", "use", "kaufen", "holen", "adoptieren", "fahren", "zulegen"})


def told_by_its_noun(frame: Frame, tables: FormationTables, grammar: Grammar) -> Iterator[Found]:
    """What somebody has or gets, by the noun that says what it is; nothing where no name stands behind it."""
    found = list(_apposition(frame, tables, grammar))
    yield from found or _new_one(frame, tables, grammar)


def _apposition(frame: Frame, tables: FormationTables, grammar: Grammar) -> Iterator[Found]:
    """ "I bought a new car, a Kia": the noun says what it is, the name which one."""
    if frame.negated or frame.verb not in _GETTING | _HAVING:
        return
    for mark in grammar.marks["apposition"]:
        if match := mark.match(frame.rest):
            noun = lower_in(match["n"], grammar.code)
            if (grammar.code, noun) not in tables.nouns and (grammar.code, noun.split()[-1]) in tables.nouns:
                # "An Android phone, a Pixel 7" is the phone.
                noun = noun.split()[-1]
            value = shorten(cut(match["v"], grammar), grammar)
            name, single, kind = predicate_of(noun, tables, grammar)
            yield Found(frame.subject.subject, name, value, single, kind)
            if is_a(noun, "animal", tables, grammar):
                yield Found(frame.subject.subject, "pet", noun, False, "fact")
            return


def _new_one(frame: Frame, tables: FormationTables, grammar: Grammar) -> Iterator[Found]:
    """ "I have a new favourite dish, by the way: lamb biryani": of what is well known, its name behind a colon."""
    if frame.negated or frame.verb not in _GETTING:
        return
    for mark in grammar.marks["has_new"]:
        if match := mark.search(frame.text):
            noun = lower_in(match["n"], grammar.code)
            name, single, kind = predicate_of(noun, tables, grammar)
            value = shorten(cut(match["v"], grammar), grammar)
            if value and (name.startswith("favourite:") or name in tables.predicates):
                yield Found(frame.subject.subject, name, value, single, kind)
            return

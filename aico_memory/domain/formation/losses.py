"""What ends because it is gone: "my dog died", "my car was stolen", "Anna left me", "I sold my car"."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from aico_memory.domain.formation.attributes import TIME, Found, predicate_of
from aico_memory.domain.formation.formed import SPEAKER
from aico_memory.domain.formation.frames import Frame
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.kinds_of_things import is_a
from aico_memory.domain.formation.turkish_words import unpossessed
from aico_memory.domain.formation.wording import lower_in, trim

PARTNER = "partner"


def losses(frame: Frame, tables: FormationTables, grammar: Grammar) -> Iterator[Found]:
    """The ends that a clause about somebody or something else tells; nothing where it tells none."""
    if frame.negated:
        return
    party = frame.subject
    first = lower_in(trim(frame.rest.split()[0]), grammar.code) if frame.rest else ""
    if party.name and not party.noun:
        for mark in grammar.marks["succession"]:
            # "Monica took over as my boss".
            if (found := mark.search(frame.rest)) and lower_in(found["n"], grammar.code) in grammar.relations:
                name, single, kind = predicate_of(lower_in(found["n"], grammar.code), tables, grammar)
                yield Found(SPEAKER, name, party.name, single, kind)
                return
        if frame.verb in grammar.words["deserts"] and first in ("", "me", "us", "mich", "uns"):
            yield Found(SPEAKER, PARTNER, party.name, True, "profile", act="end")
        return
    if not party.noun or party.name:
        return
    last = party.noun.split()[-1]
    gone = frame.verb in grammar.words["perish"] or first in grammar.words["lost"] or frame.verb in grammar.words["lost"]
    called_off = frame.verb in grammar.words["cancels"] or first in grammar.words["cancels"]
    if last in grammar.relations:
        if gone or (frame.verb in grammar.words["deserts"] and first in ("me", "us", "mich", "uns")):
            name, single, kind = predicate_of(party.noun, tables, grammar)
            yield Found(party.owner, name, party.name, single, kind, act="end")
            if is_a(party.noun, "animal", tables, grammar):
                yield Found(party.owner, "pet", party.noun, False, "fact", act="end")
    elif called_off:
        yield Found(party.subject, TIME, "", True, "fact", act="end")
    elif gone and party.possessed:
        name, single, kind = predicate_of(party.noun, tables, grammar)
        if name in ("home_city", "employer"):
            # "The house was sold": nobody moved yet.
            return
        yield Found(party.owner, name, "", single, kind, act="end")
        yield Found(party.owner, "owns", party.noun, False, "fact", act="end")


def ended_noun(found: Found, tables: FormationTables, grammar: Grammar) -> Found | None:
    """ "I sold my car", "I have no car any more": the noun names what ends, whatever its value."""
    noun = lower_in(found.value, grammar.code)
    if grammar.code == "tr":
        noun = unpossessed(noun, grammar.words["nouns"] | frozenset(grammar.relations)) or noun
    noun = grammar.synonyms.get(noun, noun)
    if name := tables.nouns.get((grammar.code, noun)):
        return replace(found, predicate=name, value="", single_valued=tables.predicates[name].single_valued)
    return None

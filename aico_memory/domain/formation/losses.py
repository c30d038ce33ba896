"""What ends because it is gone, and who comes in its place: "my dog died", "my car was stolen", "Anna left me"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from aico_memory.domain.formation.attributes import ATTRIBUTE, TIME, Found, predicate_of
from aico_memory.domain.formation.formed import SPEAKER
from aico_memory.domain.formation.frames import Frame
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.kinds_of_things import is_a
from aico_memory.domain.formation.turkish_words import unpossessed
from aico_memory.domain.formation.wording import lower_in, trim

PARTNER, REPLACED = "partner", "replaced"
_PAIR = re.compile(r"(?P<a>[A-ZÄÖÜ][\w-]+) (?:and|und) (?P<b>[A-ZÄÖÜ][\w-]+)(?!\w)")
FEES = frozenset({"fee", "fees", "price"})


def losses(frame: Frame, tables: FormationTables, grammar: Grammar) -> Iterator[Found]:  # noqa: PLR0912, PLR0915
    """The ends that a clause about somebody or something else tells; nothing where it tells none."""
    if frame.negated:
        return
    party = frame.subject
    first = lower_in(trim(frame.rest.split()[0]), grammar.code) if frame.rest else ""
    if leave := _who_moved_out(frame, first, grammar):
        for who in leave:
            # Who shares the flat does so no longer; of anybody else it ends nothing.
            for noun in sorted(grammar.words["sharing"]):
                name, single, kind = predicate_of(noun, tables, grammar)
                yield Found(SPEAKER, name, who, single, kind, act="end")
            yield Found(SPEAKER, "lives_with", who, False, "fact", act="end")
        yield Found(party.subject, "home_city", "", True, "profile", act="end")
        return
    if party.name and not party.noun:
        for mark in grammar.marks["succession"] if frame.verb not in grammar.words["states"] else ():
            # "Monica took over as my boss".
            if (found := mark.search(frame.rest)) and lower_in(found["n"], grammar.code) in grammar.relations:
                name, single, kind = predicate_of(lower_in(found["n"], grammar.code), tables, grammar)
                yield Found(SPEAKER, name, party.name, single, kind)
                return
        for mark in grammar.marks["replaces"]:
            if found := mark.match(frame.text):
                # "Oleg replaces Renate": whatever she was.
                yield Found(SPEAKER, REPLACED, party.name, False, "fact", left=found["old"])
                return
        if frame.verb in grammar.words["lives"] and any(mark.search(frame.text) for mark in grammar.marks["with_us"]):
            # "Petra lives with us": who shares the flat, whether friend or lodger.
            for noun in sorted(grammar.words["lives_in"]):
                name, _, kind = predicate_of(noun, tables, grammar)
                yield Found(SPEAKER, name, party.name, False, kind)
            return
        if frame.verb in grammar.words["deserts"] and first in ("", "me", "us", "mich", "uns"):
            yield Found(SPEAKER, PARTNER, party.name, True, "profile", act="end")
        return
    if party.name and party.noun in grammar.relations and frame.verb in grammar.words["perish"] and grammar.code == "de":
        # "Unser Hund Balu ist gestorben."
        name, single, kind = predicate_of(party.noun, tables, grammar)
        yield Found(party.owner, name, party.name, single, kind, act="end")
        yield from _nowhere(frame, tables, grammar)
        if is_a(party.noun, "animal", tables, grammar):
            yield Found(party.owner, "pet", party.noun, False, "fact", act="end")
        return
    if not party.noun or party.name:
        return
    last = party.noun.split()[-1]
    gone = frame.verb in grammar.words["perish"] or first in grammar.words["lost"] or frame.verb in grammar.words["lost"]
    # "The trip is off", never "hard work pays off".
    off = first in grammar.words["cancels"] and (
        first not in grammar.words["particles"] or frame.verb in grammar.words["copulas"]
    )
    called_off = frame.verb in grammar.words["cancels"] or off
    if frame.verb in grammar.words["retires"] and last in grammar.words["kin"]:
        yield Found(party.subject, "employer", "", True, "profile", act="end")
        return
    if last in grammar.relations:
        if gone or (frame.verb in grammar.words["deserts"] and first in ("me", "us", "mich", "uns")):
            name, single, kind = predicate_of(party.noun, tables, grammar)
            yield Found(party.owner, name, party.name, single, kind, act="end")
            yield from _nowhere(frame, tables, grammar)
            if is_a(party.noun, "animal", tables, grammar):
                yield Found(party.owner, "pet", party.noun, False, "fact", act="end")
                for said in (lower_in(trim(word), grammar.code) for word in frame.text.split()):
                    if said != party.noun and grammar.synonyms.get(said) == party.noun:
                        # "The beagle died": the dog was told as one.
                        yield Found(party.owner, "pet", said, False, "fact", act="end")
    elif called_off:
        yield Found(party.subject, TIME, "", True, "fact", act="end")
        if (grammar.code, last) not in tables.nouns:
            yield Found(SPEAKER, "training", last, False, "fact", act="end")
    elif (frame.verb in grammar.words["over"] or first in grammar.words["over"]) and " " in party.noun:
        yield from _over(party.noun, tables, grammar)
    elif gone and party.possessed:
        name, single, kind = predicate_of(party.noun, tables, grammar)
        if name in ("home_city", "employer"):
            # "The house was sold": nobody moved yet.
            return
        yield Found(party.owner, name, "", single, kind, act="end")
        yield Found(party.owner, "owns", party.noun, False, "fact", act="end")


def _who_moved_out(frame: Frame, first: str, grammar: Grammar) -> list[str]:
    """ "Joan and Pete have moved away": the names of those who moved out; empty where the clause tells nothing of the kind."""
    away = frame.verb in grammar.words["moves"] and first in ("out", "away") and frame.verb != "relocate"
    if not away and not (frame.verb in grammar.words["moves_out"] and not first):
        return []
    party, pair = frame.subject, _PAIR.match(frame.text)
    if pair and pair.group().casefold() == party.subject:
        return [pair["a"], pair["b"]]
    return [party.name] if party.name and not party.noun else []


def _nowhere(frame: Frame, tables: FormationTables, grammar: Grammar) -> Iterator[Found]:
    """Who died lives and works nowhere."""
    if frame.verb in grammar.words["perish"] and not is_a(frame.subject.noun, "animal", tables, grammar):
        yield Found(frame.subject.subject, "home_city", "", True, "profile", act="end")
        yield Found(frame.subject.subject, "employer", "", True, "profile", act="end")


def _over(noun: str, tables: FormationTables, grammar: Grammar) -> Iterator[Found]:
    """ "The pottery course has finished": one of many courses, which the words in front name."""
    which, _, what = noun.rpartition(" ")
    known = tables.predicates.get(tables.nouns.get((grammar.code, what), ""))
    if known is not None and not known.single_valued:
        yield Found(SPEAKER, known.name, which, False, known.kind, act="end")


def ended_noun(found: Found, tables: FormationTables, grammar: Grammar) -> Found | None:
    """ "I sold my car", "I have no car any more": the noun names what ends, whatever its value."""
    noun = lower_in(found.value, grammar.code)
    if grammar.code == "tr":
        noun = unpossessed(noun, grammar.words["nouns"] | frozenset(grammar.relations)) or noun
    noun = grammar.synonyms.get(noun, noun)
    if grammar.parser == "english" and " " in noun and noun.split()[-1] in FEES:
        # What is paid for the gym is not the gym.
        return replace(found, predicate=ATTRIBUTE + noun, value="", single_valued=True)
    if name := tables.nouns.get((grammar.code, noun)):
        return replace(found, predicate=name, value="", single_valued=tables.predicates[name].single_valued)
    return None

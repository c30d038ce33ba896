"""Questions for yes or no: the fact that decides them, also where it says the contrary, or says it by a name."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from aico_memory.domain.formation.attributes import ATTRIBUTE
from aico_memory.domain.formation.formed import SPEAKER
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.standing import COUNT
from aico_memory.domain.formation.turkish_phrases import own_noun
from aico_memory.domain.formation.wording import lower_in
from aico_memory.domain.recall.groups import Group
from aico_memory.domain.recall.matching import covered, stems
from aico_memory.domain.recall.question import Question
from aico_memory.domain.recall.timeline import Held, at

# What stands behind a thing that one has ("an allotment by the river").
_PLACED = re.compile(r" (?:by|in|at|on|with|near|from|for|of) ")
PET, OWNS = "pet", "owns"
# What one does not do is no answer to whether one does it; what one dislikes is.
PREFERENCE = "preference"


def decided(
    question: Question, groups: Sequence[Group], about: frozenset[str], at_us: int, tables: FormationTables
) -> list[Held] | None:
    """What decides the question, nothing where that is not known; None where it is no such question."""
    grammar = tables.grammars[question.language]
    lowered = lower_in(question.text, question.language)
    whose = about or frozenset({SPEAKER})
    mine = [group for group in groups if group.subject in whose]
    if any(mark.search(lowered) for mark in grammar.marks["ever"]):
        return _ever(question, mine, at_us)
    for mark in grammar.marks["having"]:
        if match := mark.search(lowered):
            own = match["w"] in grammar.words["speaker"] or (grammar.parser == "turkish" and bool(_mine(match["o"], grammar)))
            theirs = [group for group in groups if group.subject == SPEAKER] if own else mine
            return _had(match["o"], question, groups, theirs, at_us, tables)
    which = any(mark.search(lowered) for mark in grammar.marks["which_of"])
    return _contrary(question, mine, at_us, tables) if question.yes_no and not which else None


def _ever(question: Question, groups: Sequence[Group], at_us: int) -> list[Held] | None:
    """ "Did I ever live in Rome?": whenever that was, up to then."""
    found = [
        one
        for group in groups
        for one in group.held
        if one.from_us <= at_us and names(one, question) and _asked_for(group, question)
    ]
    if found:
        return [max(found, key=lambda one: one.until_us)]
    return [] if question.names else None


def _asked_for(group: Group, question: Question) -> bool:
    """Whether the question means the predicate: by its wording, its verb or its noun."""
    verb, _, noun = group.predicate.partition(":")
    named = stems(noun or verb.split("_")[0], question.language)
    return question.predicates.get(group.predicate, 0.0) > 0 or (bool(named) and named <= question.stems)


def _had(
    thing: str, question: Question, groups: Sequence[Group], mine: Sequence[Group], at_us: int, tables: FormationTables
) -> list[Held] | None:
    """ "Do I have a sister?": who that is, else that there is one, else how many; None where no relative or animal is named."""
    grammar = tables.grammars[question.language]
    nouns = _meant(thing, grammar)
    if not nouns:
        # "Do I have asthma?", whatever that is kept as.
        words = stems(thing, question.language)
        exact = [
            one
            for group in mine
            for one in at(group.held, at_us)
            if words and stems(one.fact.value, question.language) == words
        ]
        return exact[:1] or None
    surfaces = {
        name: surface.nouns
        for name, known in tables.predicates.items()
        if known.relation and (surface := known.surfaces.get(question.language))
    }
    by_name = [
        group
        for group in mine
        if group.predicate.removeprefix(ATTRIBUTE) in nouns or nouns & surfaces.get(group.predicate, frozenset())
    ]
    told = [group for group in mine if group.predicate in (PET, OWNS)]
    counted = [group for group in mine if group.predicate.startswith(COUNT) and group.predicate.removeprefix(COUNT) in nouns]
    named = _at(by_name, at_us)
    there = [one for one in _at(told, at_us) if _is_one_of(one.fact.value, nouns, grammar)]
    # Nobody's name: "my sister lives in Bonn" tells that there is one.
    spoken = [one for group in groups if group.subject in nouns for one in at(group.held, at_us)]
    if by_name and not named:
        # The hamster had a name, and is gone.
        told_since = max(one.statement.said_at_us for group in by_name for one in group.held)
        return [one for one in there if one.statement.said_at_us > told_since]
    return named or _at(counted, at_us) or there or spoken[:1]


def _at(groups: Sequence[Group], at_us: int) -> list[Held]:
    held = [one for group in groups for one in at(group.held, at_us)]
    return list({one.fact.object_key: one for one in held}.values())


def _meant(thing: str, grammar: Grammar) -> frozenset[str]:
    """Nouns of relatives and animals that the object of the question names ("any kids" -> child, son, daughter)."""
    words = [word for word in thing.split() if word not in grammar.words["determiners"] and word not in grammar.words["empty"]]
    if not words:
        return frozenset()
    for noun in (" ".join(words), words[-1], *_mine(thing, grammar)):
        if noun in grammar.collectives:
            members = grammar.collectives[noun]
            return members | {grammar.synonyms[one] for one in members if one in grammar.synonyms}
        for form in (noun, noun.removesuffix("s")):
            if form in grammar.relations:
                # "kardeş" is any "kız kardeş".
                kinds = {one for one in grammar.relations if one.endswith(f" {form}")} if grammar.parser == "turkish" else set()
                return frozenset({form, grammar.synonyms.get(form, form), *kinds})
    return frozenset()


def _mine(thing: str, grammar: Grammar) -> list[str]:
    """The noun of "köpeğim", in a language that says by an ending whose it is."""
    words = thing.split()
    if grammar.parser != "turkish" or not words:
        return []
    noun = own_noun(words[-1], grammar)
    return [" ".join([*words[:-1], noun]), noun] if noun else []


def _is_one_of(value: str, nouns: Collection[str], grammar: Grammar) -> bool:
    last = lower_in(value, grammar.code).split()[-1:]
    return any(form in nouns or grammar.synonyms.get(form) in nouns for word in last for form in (word, word.removesuffix("s")))


def _contrary(question: Question, groups: Sequence[Group], at_us: int, tables: FormationTables) -> list[Held] | None:
    """ "Do I like olives?" of somebody who hates them; None where the question is not answered by the contrary."""
    own = [name for name in question.predicates if name in tables.predicates]
    against = {tables.predicates[name].opposite for name in own} | {
        known.name for known in tables.predicates.values() if known.opposite in own
    }

    def named_in(predicates: Collection[str]) -> list[Held]:
        return [
            one for group in groups if group.predicate in predicates for one in at(group.held, at_us) if names(one, question)
        ]

    tastes = {name for name in against - {""} if tables.predicates[name].kind == PREFERENCE}
    return named_in(own)[:1] or named_in(tastes) or None


def names(one: Held, question: Question) -> bool:
    """Whether the question names the value."""
    words = stems(one.fact.value, question.language)
    head = stems(_PLACED.split(one.fact.value)[0], question.language) if question.yes_no else words
    covering = question.yes_no and covered(
        lower_in(one.fact.value, question.language).split(), question.words, question.language
    )
    return covering or (bool(words) and (words <= question.stems or (bool(head) and head <= question.stems)))

"""Questions whose answer is no value of one predicate: who does something, all of a kind of relatives, any sport."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from aico_memory.domain.formation.attributes import ATTRIBUTE
from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.formation.formed import SPEAKER
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.kinds_of_things import is_a
from aico_memory.domain.formation.standing import COUNT, kinds_named
from aico_memory.domain.formation.wording import lower_in
from aico_memory.domain.memory import OPEN
from aico_memory.domain.recall.doings import asks_for_work
from aico_memory.domain.recall.groups import Group
from aico_memory.domain.recall.matching import stems
from aico_memory.domain.recall.question import Question
from aico_memory.domain.recall.subjects import is_relation
from aico_memory.domain.recall.timeline import THINGS, Held, at
from aico_memory.domain.recall.yes_no import names

# What one does for sport is told as a hobby or as what one plays.
SPORTS = ("plays", "hobby")
PET, BREED = "pet", "breed"
# What one would rather have.
PREFERRED = ("likes", "drinks", "eats", "uses")
_AT_WORK = re.compile(r"\b(?:işte|işlerde|olarak) çalış")
# Words that say nothing of what is asked for.
_PLAIN = ("asking", "determiners", "prepositions", "adverbs", "own")


def falls_back(predicate: str, question: Question, tables: FormationTables) -> tuple[str, ...]:
    """What answers where a predicate has no value; "Which job am I working in?" is not answered with what one studies."""
    known = tables.predicates.get(predicate)
    at_work = asks_for_work(question, predicate, tables) or (
        question.language == "tr" and _AT_WORK.search(lower_in(question.text, "tr"))
    )
    if predicate == "location" and question.asks != "where":
        # "What floor?", "what is the room called?": not the city that one lives in.
        return ()
    return () if known is None or at_work else known.falls_back


def says_nothing(group: Group, question: Question) -> bool:
    """Whether it only says again whom the question names ("my cousin Selin"), or what is done where a name is asked for."""
    if "name" in question.predicates and question.naming and question.relations and group.predicate.isalpha():
        # "Kızımın adı ne?" is not answered with what she watches.
        return group.subject in question.relations and group.predicate not in question.predicates
    if not question.asks and "?" not in question.text:
        # "User collects stamps", looked for: not a question that it would only give back.
        return False
    return all(stems(one.fact.value, question.language) <= question.stems for one in group.held)


def answered_broadly(
    question: Question, groups: Sequence[Group], about: frozenset[str], at_us: int, tables: FormationTables
) -> list[Held]:
    """The answer where the question asks more broadly than predicates are kept; empty where it does not."""
    return (
        _how_many(question, groups, about, at_us, tables)
        or _who_does(question, groups, about, at_us, tables)
        or _all_of(question, groups, at_us, tables)
        or _animals(question, groups, at_us, tables)
        or _breed(question, groups, at_us, tables)
        or _sports(question, groups, about, at_us, tables)
        or _preferred(question, groups, about, at_us, tables)
    )


def _how_many(
    question: Question, groups: Sequence[Group], about: frozenset[str], at_us: int, tables: FormationTables
) -> list[Held]:
    """ "How many sisters do I have?": the number that was told of what the question names."""
    grammar = tables.grammars[question.language]
    if not any(mark.search(lower_in(question.text, question.language)) for mark in grammar.marks["how_many"]):
        return []
    kinds = kinds_named(question.text, tables, grammar)
    counts = [group for group in groups if group.predicate.startswith(COUNT) and group.predicate.removeprefix(COUNT) in kinds]
    whose = [group for group in counts if group.subject in about] or [group for group in counts if group.subject == SPEAKER]
    return [one for group in whose[:1] for one in at(group.held, at_us)]


def _who_does(
    question: Question, groups: Sequence[Group], about: frozenset[str], at_us: int, tables: FormationTables
) -> list[Held]:
    """ "Who waters my plants?", "Who is allergic to nuts?": the one of whom all that is told that the question names."""
    if question.asks != "who":
        return []
    found: list[Held] = []
    grammar = tables.grammars[question.language]
    plain = frozenset(
        word for name in ("asking", "determiners", "prepositions", "adverbs", "own") for word in grammar.words[name]
    )
    asked = question.stems - {stem for word in question.words & plain for stem in stems(word, question.language)}
    for group in groups:
        if (
            group.subject == SPEAKER
            or group.subject in about
            or is_relation(group.predicate, tables)
            or group.predicate in THINGS
        ):
            continue
        verb = stems(group.predicate.split("_")[0], question.language) if ":" not in group.predicate else frozenset()
        root = group.predicate.split("_")[0]
        if question.language == "tr" and len(root) > 2 and any(word.startswith(root) for word in question.words):
            verb = verb | {stem for word in question.words if word.startswith(root) for stem in stems(word, "tr")}
        if question.language == "de":
            # "gießt" and "gießen" have no stem in common.
            forms = [word for word in question.words if _is_form(word, root, question, grammar)]
            verb = verb | {stem for word in forms for stem in stems(word, "de")}
        if not (verb & question.stems or question.predicates.get(group.predicate, 0.0) >= 1.0):
            continue
        if stems(group.subject, question.language) & question.stems:
            continue
        for one in at(group.held, at_us):
            words = stems(one.fact.value, question.language)
            if words and (words <= question.stems or frozenset() < asked - verb <= words):
                found.append(_named_by(one, groups))
    left = {one.fact.corrected for one in found} - {""}
    # "Mrs Bell moved away, now Mr Tran waters the plants": she does so no longer.
    found = [one for one in found if normalise_fact_key(one.subject) not in left]
    leads = grammar.words["leads"]
    if len(found) > 1 and all(one.predicate in leads for one in found):
        # Whoever leads it was told last.
        return [max(found, key=lambda one: (one.statement.said_at_us, one.statement.order))]
    return found


def _is_form(word: str, root: str, question: Question, grammar: Grammar) -> bool:
    """Whether a German word is a form of the verb, its particle apart ("passt … auf")."""
    verb = grammar.verbs.get(word, "")
    particle = root.removesuffix(verb) if verb else root
    return bool(verb) and root.endswith(verb) and (not particle or particle in question.words)


def _named_by(one: Held, groups: Sequence[Group]) -> Held:
    """The fact with its subject for a value, as it was said."""
    names = (held.fact.value for group in groups if group.subject == SPEAKER for held in group.held)
    said = re.search(rf"(?<!\w){re.escape(one.subject)}(?!\w)", one.fact.text, re.IGNORECASE)
    name = next((name for name in names if name.casefold() == one.subject), said.group() if said else one.subject)
    return replace(one, statement=replace(one.statement, fact=replace(one.fact, value=name, object_key=name.casefold())))


def _all_of(question: Question, groups: Sequence[Group], at_us: int, tables: FormationTables) -> list[Held]:
    """ "What are my children called?": sons and daughters alike, where the language says that these are children."""
    grammar = tables.grammars[question.language]
    if not question.naming:
        return []
    members = {member for noun, several in grammar.collectives.items() if noun in question.words for member in several}
    if not members:
        return []
    wanted = {ATTRIBUTE + member for member in members}
    found = [one for group in groups if group.subject == SPEAKER and group.predicate in wanted for one in at(group.held, at_us)]
    return list({one.fact.object_key: one for one in found}.values())


def _animals(question: Question, groups: Sequence[Group], at_us: int, tables: FormationTables) -> list[Held]:
    """ "Which pets do I have?": by their names, and by what they are where they have been given none."""
    grammar = tables.grammars[question.language]
    asked = [noun for noun in grammar.collectives if noun in question.words]
    if not asked or question.predicates.get(PET, 0.0) < 1 or question.yes_no or question.relations - set(asked) - {PET}:
        return []
    members = {ATTRIBUTE + member for noun in asked for member in grammar.collectives[noun]}
    mine = [group for group in groups if group.subject == SPEAKER]
    named = [group for group in mine if group.predicate in members]
    if not named:
        return []
    kept = [one for group in mine if group.predicate == PET for one in group.held]
    found = [
        one
        for group in named
        for one in at(group.held, at_us)
        if not _given_up(group.predicate.removeprefix(ATTRIBUTE), one, kept, at_us, grammar)
    ]
    named_kinds = {group.predicate.removeprefix(ATTRIBUTE) for group in named}
    found += [one for one in at(kept, at_us) if not _kinds(one, grammar) & named_kinds]
    return list({one.fact.object_key: one for one in found}.values())


def _breed(question: Question, groups: Sequence[Group], at_us: int, tables: FormationTables) -> list[Held]:
    """ "What breed is my dog?", of which was told only that it is a poodle."""
    if question.predicates.get(BREED, 0.0) < 1 or any(group.predicate == BREED for group in groups) or question.yes_no:
        return []
    synonyms = tables.grammars[question.language].synonyms
    mine = [group for group in groups if group.subject == SPEAKER and group.predicate == PET]
    held = [one for group in mine for one in at(group.held, at_us)]
    return [one for one in held if synonyms.get(lower_in(one.fact.value, question.language)) in question.relations]


def _kinds(one: Held, grammar: Grammar) -> set[str]:
    """What an animal is: a rescue dog is a dog."""
    value = lower_in(one.fact.value, grammar.code)
    return {grammar.synonyms.get(word, word) for word in (value, *value.split())}


def _given_up(kind: str, named: Held, kept: Sequence[Held], at_us: int, grammar: Grammar) -> bool:
    """ "We don't have any pets now": who was named goes with what it was."""
    same = [one for one in kept if kind in _kinds(one, grammar)]
    return bool(same) and not at(same, at_us) and any(named.from_us < one.until_us <= at_us for one in same)


def _preferred(
    question: Question, groups: Sequence[Group], about: frozenset[str], at_us: int, tables: FormationTables
) -> list[Held]:
    """ "Do I prefer tea or coffee?": the one of the two that was told last."""
    grammar = tables.grammars[question.language]
    if not any(mark.search(lower_in(question.text, question.language)) for mark in grammar.marks["which_of"]):
        return []
    whose = about or frozenset({SPEAKER})
    mine = [group for group in groups if group.subject in whose and group.predicate in PREFERRED]
    held = [one for group in mine for one in at(group.held, at_us) if names(one, question)]
    return [max(held, key=lambda one: (one.from_us, one.statement.said_at_us, one.statement.order))] if held else []


def _then(held: Sequence[Held], question: Question, at_us: int) -> list[Held]:
    """What held then; of what was so once, what is over."""
    once = question.former and question.at_us == OPEN
    return [one for one in held if one.until_us <= at_us] if once else at(held, at_us)


def _sports(
    question: Question, groups: Sequence[Group], about: frozenset[str], at_us: int, tables: FormationTables
) -> list[Held]:
    grammar = tables.grammars[question.language]
    if not question.words & grammar.words["sports"]:
        return []
    mine = [
        group for group in groups
        if group.predicate in SPORTS and (group.subject in about if about or question.relations else group.subject == SPEAKER)
    ]  # fmt: skip
    held = [one for group in mine for one in _then(group.held, question, at_us)]
    held = [one for one in held if not is_a(one.fact.value, "instrument", tables, grammar)]
    known = [one for one in held if one.predicate == SPORTS[0] or is_a(one.fact.value, "sport", tables, grammar)]
    return list({one.fact.object_key: one for one in known or held}.values())

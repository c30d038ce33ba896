"""Whether a fact answers all of a question, and not only what its verb asks for."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Set

from aico_memory.domain.formation.grammar import FormationTables, Surface
from aico_memory.domain.formation.wording import lower_in
from aico_memory.domain.recall.matching import stems
from aico_memory.domain.recall.question import Question
from aico_memory.domain.recall.timeline import Held

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
# Lists of a grammar whose words ask for nothing by themselves.
_FUNCTION = (
    "speaker", "pronouns", "possessives", "determiners", "prepositions", "adverbs", "openers", "empty", "own", "now", "asking",
    "framing",
)  # fmt: skip
# Shorter words say nothing that a fact would have to speak of.
_SHORTEST = 3


def left_over(
    question: Question, held: Held, tables: FormationTables, known: Collection[str] = (), ignored: Set[str] = frozenset()
) -> frozenset[str]:
    """Words of the question that neither ask for the fact's predicate nor stand in the fact.

    "Where is Gina's internship?" leaves "internship" over where all that is known is where Gina is. `known` are
    names, folded, of those whose facts these are; `ignored` are folded function words. Names of people who are not
    known are not left over: the rules of recall have decided whom they mean.
    """
    return untold(to_tell(question, held.predicate, tables, known, ignored), held, question.language)


def to_tell(
    question: Question, predicate: str, tables: FormationTables, known: Collection[str] = (), ignored: Set[str] = frozenset()
) -> dict[str, frozenset[str]]:
    """Words of the question that do not ask for the predicate, and their stems: what a fact of it should speak of."""
    grammar = tables.grammars[question.language]
    lowered = lower_in(question.text, question.language)
    asking = _spans(question, predicate, tables, lowered)
    found = {}
    for match in _WORD.finditer(lowered):
        word = match.group().split("'")[0]
        folded = word.casefold()
        if len(word) < _SHORTEST or word.isdigit() or folded in ignored or folded in known or folded in question.names:
            continue
        if any(word in grammar.words.get(name, ()) for name in _FUNCTION) or match.group() in ignored:
            continue
        if word in grammar.relations or any(match.start() < end and start < match.end() for start, end in asking):
            continue
        if word in grammar.calendar.days or word in grammar.calendar.units or word in grammar.calendar.months:
            continue
        found[word] = frozenset(stems(word, question.language))
    return found


def untold(words: Mapping[str, Set[str]], held: Held, language: str) -> frozenset[str]:
    """Those of the words, by their stems, that the fact does not speak of."""
    if not words:
        return frozenset()
    telling = stems(f"{held.fact.text} {held.subject} {held.predicate.replace('_', ' ').replace(':', ' ')}", language)
    return frozenset(word for word, its in words.items() if not its & telling)


def _spans(question: Question, predicate: str, tables: FormationTables, lowered: str) -> list[tuple[int, int]]:
    """Where the question asks for a predicate that it may mean, or in what way it asks."""
    grammar = tables.grammars[question.language]
    likely = {predicate, *question.predicates}
    patterns = [pattern for name in likely for pattern in _patterns(tables, name, question.language)]
    patterns += [word for word, _ in grammar.asks]
    patterns += [one for one in (grammar.naming, grammar.former, grammar.yes_no, grammar.anything) if one is not None]
    spans = [match.span() for pattern in patterns for match in pattern.finditer(lowered) if match.group()]
    nouns = [noun for name in likely for noun in _surface(tables, name, question.language).nouns]
    words = [match for match in _WORD.finditer(lowered) if any(match.group().startswith(noun) for noun in nouns)]
    return [*spans, *(match.span() for match in words)]


def _patterns(tables: FormationTables, name: str, language: str) -> Iterator[re.Pattern[str]]:
    for bag in _surface(tables, name, language).ask:
        yield from bag


def _surface(tables: FormationTables, name: str, language: str) -> Surface:
    known = tables.predicates.get(name)
    return (known.surfaces.get(language) if known is not None else None) or Surface()

"""How a thing stands ("the project is on hold"), and how many of something there are ("I have two sisters")."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aico_memory.domain.formation.attributes import ATTRIBUTE, Found, predicate_of
from aico_memory.domain.formation.frames import Frame
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.kinds_of_things import is_a
from aico_memory.domain.formation.turkish_phrases import own_noun
from aico_memory.domain.formation.wording import first_of, lower_in, squeeze, trim

PROGRESS, COUNT = "progress", "count:"


def progress_of(frame: Frame, tables: FormationTables, grammar: Grammar) -> Found | None:
    """ "The project is on hold": how the thing stands; of what has a name only where no person would be said to be so."""
    party = frame.subject
    if frame.negated or frame.unreal or frame.once or not (party.noun or party.name):
        return None
    last = party.noun.split()[-1] if party.noun else ""
    if last in grammar.relations or last in grammar.words["people"] or is_a(party.noun, "animal", tables, grammar):
        return None
    for group in ("progress", "progress_of_things"):
        if group == "progress_of_things" and (party.name or not party.noun):
            continue
        for mark in grammar.marks[group]:
            if match := mark.search(squeeze(frame.text)):
                return Found(party.subject, PROGRESS, trim(match["v"]), True, "task_state")
    return None


def counted(frame: Frame, tables: FormationTables, grammar: Grammar) -> Iterator[Found]:
    """ "I have two sisters and three cats": how many there are of each, beside whatever else the clause says of them."""
    if frame.negated or frame.past or frame.once or frame.verb not in grammar.words["counted_by"]:
        return
    tokens = [trim(token) for token in first_of(frame.text).split()]
    lowered = [lower_in(token, grammar.code) for token in tokens]
    for at, word in enumerate(lowered):
        if not (word.isdigit() or (word in grammar.calendar.numbers and word not in grammar.words["vague_numbers"])):
            continue
        for start in range(at + 1, min(at + 4, len(lowered))):
            if any(lowered[start] in words for words in (grammar.words["prepositions"], grammar.calendar.units)):
                break
            named = (_own(lowered[start:end], grammar) for end in (start + 2, start + 1) if end <= len(lowered))
            if kind := next((found for noun in named if (found := counted_kind(noun, tables, grammar))), ""):
                yield Found(frame.subject.subject, f"{COUNT}{kind}", tokens[at], True, "fact")
                break


def is_their_sum(told: Sequence[Found], counts: Sequence[Found], tables: FormationTables, grammar: Grammar) -> bool:
    """ "I have two bikes, a racer and a tandem": whether the first only counts those that are named behind it."""
    for one in counts if len(told) > 2 else ():
        number = int(one.value) if one.value.isdigit() else grammar.calendar.numbers.get(lower_in(one.value, grammar.code), 0)
        kind = counted_kind(lower_in(told[0].value, grammar.code), tables, grammar)
        if one.predicate == f"{COUNT}{kind}" and number == len(told) - 1:
            return True
    return False


def _own(words: list[str], grammar: Grammar) -> str:
    """The noun without whose it is, where an ending says that."""
    last = own_noun(words[-1], grammar) or words[-1] if grammar.parser == "turkish" else words[-1]
    return " ".join([*words[:-1], last])


def counted_kind(noun: str, tables: FormationTables, grammar: Grammar) -> str:
    """ "sisters" -> "sister", where it names relatives, people or things that are counted; else empty."""
    name = predicate_of(noun, tables, grammar)[0].removeprefix(ATTRIBUTE)
    if name in grammar.relations:
        return name
    if members := grammar.collectives.get(noun):
        # "children": the member that is called so.
        return max(sorted(members), key=lambda one: _shared(one, noun))
    if noun in grammar.words["countable"] or is_a(noun, "animal", tables, grammar):
        return noun
    return noun.removesuffix("s") if noun.removesuffix("s") in grammar.words["countable"] else ""


def _shared(one: str, other: str) -> int:
    """How many letters both begin with."""
    return next(
        (at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right), min(len(one), len(other))
    )


def kinds_named(text: str, tables: FormationTables, grammar: Grammar) -> frozenset[str]:
    """Every kind of what is counted that a question names ("How many sisters …")."""
    words = [trim(word) for word in lower_in(text, grammar.code).split()]
    phrases = [words[at:end] for at in range(len(words)) for end in (at + 1, at + 2) if end <= len(words)]
    return frozenset(kind for phrase in phrases if (kind := counted_kind(_own(phrase, grammar), tables, grammar)))

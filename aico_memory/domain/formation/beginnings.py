"""What the past tense tells the beginning of: who rented a flat today lives there, a language that was learned is spoken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aico_memory.domain.formation.attributes import Found
from aico_memory.domain.formation.frames import Frame
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.when import TimePhrase
from aico_memory.domain.formation.wording import lower_in, trim

# What is told of longer ago, or of some time within a long span, may be over again: "in 2015 I rented a flat in Graz".
_NEAR_US, _SPAN_US = 60 * 86_400_000_000, 32 * 86_400_000_000
# Phrases of time that say for how long, or until when: then it is not told that it lasts.
_BOUNDED = frozenset({"held", "lasting", "until"})


def begins_with_it(
    found: Found, frame: Frame, phrases: Sequence[TimePhrase], said_at_us: int, tables: FormationTables, grammar: Grammar
) -> bool:
    """Whether the verb, in the past, tells what begins with it and holds from then on; a clause of long ago does not."""
    if not _is_done(frame) or _was_for_a_time(frame, phrases, grammar):
        return False
    if frame.verb in grammar.words["learns"]:
        return any(found.predicate == known.reached for known in tables.predicates.values())
    if (
        frame.verb not in grammar.words["enters"]
        or found.predicate not in tables.predicates
        or not _is_of_a_dwelling(frame, grammar)
    ):
        return False
    spans = [phrases[number].bounds(past=True) for number in frame.times]
    return all(end >= said_at_us - _NEAR_US and end - start <= _SPAN_US for start, end in spans)


def reached(found: Found, frame: Frame, phrases: Sequence[TimePhrase], tables: FormationTables, grammar: Grammar) -> Found:
    """ "I learned Breton": what holds once it was done, of objects known to be of its kind; as it is otherwise."""
    known = tables.predicates.get(found.predicate)
    if known is None or not known.reached or frame.verb not in grammar.words["learns"] or found.act:
        return found
    goal = tables.predicates[known.reached]
    words = lower_in(found.value, grammar.code).split()
    of_its_kind = any(trim(word) in tables.types[goal.name] for word in words)
    # "I've picked up Korean again"
    again = any(mark.search(frame.text) for mark in grammar.marks["again"])
    if not (of_its_kind and _is_done(frame)) or again or _was_for_a_time(frame, phrases, grammar):
        return found
    return replace(found, predicate=goal.name, single_valued=goal.single_valued, kind=goal.kind)


def _is_done(frame: Frame) -> bool:
    over = frame.once or frame.ended or frame.negated or frame.progressive or frame.unreal or frame.begun
    return (frame.past or frame.perfect) and not over


def _is_of_a_dwelling(frame: Frame, grammar: Grammar) -> bool:
    """Whether a flat or a house is what was rented, and no car; German joins such words to others."""
    words = [trim(word) for word in lower_in(frame.text, grammar.code).split()]
    if grammar.parser == "german":
        return any(word.endswith(tuple(grammar.words["dwellings"])) for word in words)
    return not grammar.words["dwellings"].isdisjoint(words)


def _was_for_a_time(frame: Frame, phrases: Sequence[TimePhrase], grammar: Grammar) -> bool:
    """ "As a student I rented a room in Graz", "I rented there for two years": told of a time that is over."""
    said = lower_in(frame.text, grammar.code)
    bounded = any(phrases[number].kind in _BOUNDED for number in frame.times)
    return bounded or any(mark.search(said) for mark in grammar.marks["back_then"])

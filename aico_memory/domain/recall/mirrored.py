"""Answers by wording: a statement that says all that a question says, and puts something where the question asks.

The tables of predicates know what people mostly tell; of the rest ("who covers for our manager?") the statement itself is
the only table. Nothing is kept for it: what was said is read again when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.memory import OPEN
from aico_memory.domain.recall.alike import alike, any_alike, is_first_person
from aico_memory.domain.recall.question import is_denied
from aico_memory.domain.recall.segments import CONTRACTED, RETRACT, Segment, segments_of
from aico_memory.domain.recall.slots import CLOCK, WHEN, Slot, fillers, is_relation

ADD, END = "add", "end"
# Endings of a name that tell whose something is.
_WHOSE = ("'s", "'nın", "'nin", "'nun", "'nün", "'ın", "'in", "'un", "'ün")


@dataclass(frozen=True, slots=True)
class Utterance:
    """A message of the one who asks: its id, and when it was said."""

    id: bytes
    text: str
    said_at_us: int
    zone: str = "UTC"


@dataclass(frozen=True, slots=True)
class Mirrored:
    """A value as it was said, and the interval [from, until) in which it held by that statement."""

    value: str
    utterance: Utterance
    from_us: int
    until_us: int = OPEN
    # "" takes the place of what was before, add stands beside it, end ends it.
    mode: str = ""


def mirrored(slot: Slot, asks_past: bool, grammar: Grammar, said: Sequence[Utterance], as_of_us: int) -> list[Mirrored]:
    """What the statements put where the question asks, as of then; empty where none says what it says."""
    told: list[list[Mirrored]] = []
    for utterance in sorted(said, key=lambda one: one.said_at_us):
        told.extend(_told(slot, asks_past, utterance, grammar, tuple(told)))
    return _standing(told, as_of_us)


def _told(
    slot: Slot, asks_past: bool, utterance: Utterance, grammar: Grammar, before: Sequence[list[Mirrored]]
) -> Iterator[list[Mirrored]]:
    pieces = list(segments_of(utterance.text, grammar, utterance.said_at_us, utterance.zone))
    shared = [_shared(slot, piece, grammar) for piece in pieces]
    found = frozenset(key for keys in shared for key in keys)
    for piece, keys in zip(pieces, shared, strict=True):
        if piece.act == RETRACT:
            if gone := _taken_back(slot, piece, keys, before):
                yield [Mirrored(value, utterance, utterance.said_at_us, mode=END) for value in gone]
            continue
        corrects = piece.act == "correct" and bool(before) and bool(keys)
        if not (corrects or (_says_all(slot, piece, keys, found, grammar) and _is_of_whom(slot, piece, keys, grammar))):
            continue
        if _is_over(slot, asks_past, piece, grammar):
            continue
        places = frozenset(
            at for at, word in enumerate(piece.words) if any_alike((*slot.keys, *slot.optional), word.low, grammar)
        )
        values = fillers(slot, piece, places, grammar)
        said_not = is_denied([word.low for word in piece.words], " ".join(word.said for word in piece.words), grammar)
        if said_not != slot.denied:
            # What is so ends what was not so, and the other way round; who denies everything names nothing.
            over = values or ([""] if said_not else [])
            if over:
                yield [Mirrored(value, utterance, utterance.said_at_us, mode=END) for value in over]
            continue
        start, until = bounds(slot.kind, piece, utterance.said_at_us, grammar)
        if corrects and before[-1]:
            start = min(start, before[-1][0].from_us)
        lows = {word.low for word in piece.words}
        mode = ADD if lows & grammar.words["also"] and not lows & grammar.words["only"] else ""
        if values:
            yield [Mirrored(value, utterance, start, until, mode) for value in values]


def _says_all(slot: Slot, piece: Segment, keys: frozenset[str], found: frozenset[str], grammar: Grammar) -> bool:
    """Whether a piece says all that the question says; whom "she" stands for may have been said before, in the same message."""
    if keys.issuperset(slot.keys):
        return True
    third = any(word.low in grammar.words["third"] for word in piece.words)
    return third and bool(keys) and found.issuperset(slot.keys)


def _taken_back(slot: Slot, piece: Segment, keys: frozenset[str], before: Sequence[list[Mirrored]]) -> list[str]:
    """Which of the values told before were never true; [""] stands for all of them."""
    text = f" {' '.join(word.low for word in piece.words)} "
    named = [one.value for values in before for one in values if one.value and f" {one.value.casefold()} " in text]
    return named or ([""] if keys.issuperset(slot.keys) else [])


def _is_over(slot: Slot, asks_past: bool, piece: Segment, grammar: Grammar) -> bool:
    """Whether it is told of a past, without a time, and asked of the present."""
    if asks_past or piece.times or grammar.parser == "turkish":
        return False
    verbs = [word.low for word in piece.words if any_alike(slot.keys, word.low, grammar)]
    return any(grammar.tenses.get(low) == "past" for low in verbs)


def _shared(slot: Slot, piece: Segment, grammar: Grammar) -> frozenset[str]:
    return frozenset(key for key in slot.keys if any(alike(key, word.low, grammar) for word in piece.words))


def _is_of_whom(slot: Slot, piece: Segment, keys: frozenset[str], grammar: Grammar) -> bool:
    """Whether the piece speaks of whom the question asks: the speaker, or somebody that it names."""
    lows = [word.low for word in piece.words]
    third = any(low in grammar.words["third"] for low in lows)
    if not slot.former and any(
        low in grammar.words["formers"] and any_alike(slot.names, behind, grammar) for low, behind in pairwise(lows)
    ):
        # "My former wife Kim": who the wife is, is not told.
        return False
    if slot.names:
        return slot.names <= keys or third
    if not slot.own:
        return True
    own = {low for low in lows if any_alike(slot.keys, low, grammar)}
    mine = any(is_first_person(low.partition("'")[0], grammar) or is_first_person(low, grammar) for low in lows)
    strangers = any(is_relation(low, grammar) for low in lows if low not in own)
    whose = any(low.endswith(_WHOSE) and low not in own and low not in CONTRACTED for low in lows)
    # "My parents' flat"
    whose = whose or any(low in grammar.words["people"] and low not in own for low in lows if grammar.parser == "english")
    return mine and not strangers and not third and not whose


def bounds(asked: str, piece: Segment, said_at_us: int, grammar: Grammar) -> tuple[int, int]:
    """The interval [from, until) in which a piece says that something holds, where a question of this kind is asked."""
    start, until = said_at_us, OPEN
    past = any(grammar.tenses.get(word.low) in ("past", "participle") for word in piece.words)
    for one in piece.times:
        if one.kind in ("since", "held"):
            start = one.past[0]
        elif one.kind == "from":
            start = one.future[0]
        elif one.kind in ("until", "lasting"):
            until = one.bounds(past)[1]
        elif asked not in (WHEN, CLOCK) and one.future[0] > said_at_us and one.kind in ("at", "ahead"):
            start = one.future[0]
    if until <= said_at_us:
        start = min(start, 0)
    return start, until


def _standing(told: Sequence[list[Mirrored]], as_of_us: int) -> list[Mirrored]:
    standing: dict[str, Mirrored] = {}
    ordered = sorted((one for one in told if one), key=lambda one: (one[0].from_us, one[0].utterance.said_at_us))
    for values in ordered:
        first = values[0]
        if first.from_us > as_of_us:
            # What comes later takes the place of what stands now.
            if first.mode == "":
                return [replace(one, until_us=min(one.until_us, first.from_us)) for one in standing.values()]
            continue
        if first.until_us <= as_of_us:
            continue
        if first.mode == END:
            ended = [normalise_fact_key(one.value) for one in values if one.value]
            for key in ended or list(standing):
                standing.pop(key, None)
            continue
        standing = dict(standing) if first.mode == ADD else {}
        standing |= {normalise_fact_key(one.value): one for one in values}
    return list(standing.values())

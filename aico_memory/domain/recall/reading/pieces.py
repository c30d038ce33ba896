"""What was said, piece by piece, as it bears on one question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.recall.alike import alike, any_alike, is_first_person
from aico_memory.domain.recall.mirrored import Utterance, bounds, is_denied
from aico_memory.domain.recall.segments import RETRACT, Segment, segments_of
from aico_memory.domain.recall.slots import Slot, is_relation

CORRECT = "correct"
# Letters of the parts of words that are compared.
_GRAM = 4
# Likeness to the question from which on a text of a known language bears on it, and its weight beside words in common.
_UNLIKE, _PER_LIKENESS = 0.15, 1.5


@dataclass(frozen=True, slots=True)
class Piece:
    """One thing that was said: who, when, and how much of the question it takes up (shares, 0 to 1)."""

    utterance: Utterance
    # Place of the message among those that are read, the oldest first.
    at: int
    segment: Segment
    lows: frozenset[str]
    # Words of the text, normalised, to find values again.
    words: frozenset[str]
    # Places of words that the question has as well.
    taken: frozenset[int]
    keys: frozenset[str]
    shared: float
    grams: float
    # Cosine of question and message; 0 where the model does not speak the language.
    likeness: float
    # How much it bears on the question: the better of words in common and likeness.
    bearing: float
    asked_sort: bool
    from_us: int
    until_us: int
    denied: bool
    corrects: bool
    mine: bool
    third: bool
    stranger: bool
    past: bool


def read_pieces(slot: Slot, said: Sequence[Utterance], likeness: Mapping[bytes, float], grammar: Grammar) -> list[Piece]:
    """All pieces of the messages, the oldest first."""
    asked = (*slot.keys, *slot.optional)
    wanted = frozenset(gram for word in asked for gram in grams(word))
    found = []
    for at, utterance in enumerate(sorted(said, key=lambda one: one.said_at_us)):
        alike_to = likeness.get(utterance.id, 0.0)
        for segment in segments_of(utterance.text, grammar, utterance.said_at_us, utterance.zone):
            if segment.words:
                found.append(_piece(slot, asked, wanted, utterance, at, segment, alike_to, grammar))
    return found


def _piece(
    slot: Slot, asked: Sequence[str], wanted: frozenset[str], utterance: Utterance, at: int, segment: Segment, likeness: float,
    grammar: Grammar,
) -> Piece:  # fmt: skip
    lows = frozenset(word.low for word in segment.words)
    keys = frozenset(key for key in slot.keys if any(alike(key, low, grammar) for low in lows))
    held = frozenset(gram for low in lows for gram in grams(low))
    own = {low for low in lows if any_alike(slot.keys, low, grammar)}
    start, until = bounds(slot, segment, utterance.said_at_us, grammar)
    shared = len(keys) / len(slot.keys)
    return Piece(
        utterance, at, segment, lows,
        words=value_words(" ".join(word.said for word in segment.words)),
        taken=frozenset(place for place, word in enumerate(segment.words) if any_alike(asked, word.low, grammar)),
        keys=keys, shared=shared, grams=len(wanted & held) / max(1, len(wanted)), likeness=likeness,
        bearing=max(shared, (likeness - _UNLIKE) * _PER_LIKENESS),
        asked_sort=any(any_alike(slot.optional, low, grammar) for low in lows),
        from_us=start, until_us=until,
        denied=segment.act == RETRACT or is_denied(segment, grammar), corrects=segment.act == CORRECT,
        mine=any(is_first_person(low, grammar) or is_first_person(low.partition("'")[0], grammar) for low in lows),
        third=any(low in grammar.words["third"] for low in lows),
        stranger=any(is_relation(low, grammar) for low in lows if low not in own),
        past=any(grammar.tenses.get(low) == "past" for low in lows),
    )  # fmt: skip


def grams(word: str) -> frozenset[str]:
    """Its runs of four letters, with the edges."""
    padded = f"  {word} "
    return frozenset(padded[at : at + _GRAM] for at in range(len(padded) - _GRAM + 1))


def value_words(text: str) -> frozenset[str]:
    """The words under which a value is found again."""
    return frozenset(normalise_fact_key(text).split())

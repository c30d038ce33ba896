"""Which messages are read for a question, where there are many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.recall.alike import alike
from aico_memory.domain.recall.mirrored import Utterance
from aico_memory.domain.recall.reading.pieces import grams
from aico_memory.domain.recall.segments import words_of
from aico_memory.domain.recall.slots import Slot

# Messages that are read piece by piece.
MOST = 24


def worth_reading(slot: Slot, said: Sequence[Utterance], likeness: Mapping[bytes, float], grammar: Grammar) -> list[Utterance]:
    """The messages that bear most on the question, and what was said right after each; at most MOST, the oldest first."""
    ordered = sorted(said, key=lambda one: one.said_at_us)
    if len(ordered) <= MOST:
        return ordered
    wanted = frozenset(gram for key in slot.keys for gram in grams(key))

    def bearing(one: Utterance) -> tuple[float, int]:
        words = words_of(one.text, grammar)
        shared = sum(any(alike(key, word, grammar) for word in words) for key in slot.keys) / len(slot.keys)
        held = frozenset(gram for word in words for gram in grams(word))
        return shared + len(wanted & held) / max(1, len(wanted)) + likeness.get(one.id, 0.0), one.said_at_us

    places = {one.id: place for place, one in enumerate(ordered)}
    chosen: set[int] = set()
    for one in sorted(ordered, key=bearing, reverse=True):
        # A correction stands behind what it corrects.
        chosen |= {places[one.id], min(places[one.id] + 1, len(ordered) - 1)}
        if len(chosen) >= MOST:
            break
    return [ordered[place] for place in sorted(chosen)][-MOST:]

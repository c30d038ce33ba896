"""When what was read began and ended.

A message says since when, and now and then until when; that something else came in its place is said later. The same
question is therefore read again of later moments, from the last one back, until the value itself is read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.memory import OPEN
from aico_memory.domain.recall.choosing import same_value
from aico_memory.domain.recall.mirrored import Mirrored, Utterance, bounds
from aico_memory.domain.recall.reading.passage import Passage
from aico_memory.domain.recall.reading.picking import Picked, Scorer, pick_values
from aico_memory.domain.recall.segments import segments_of
from aico_memory.domain.recall.slots import WHAT, Slot

# Moments that are looked at, and how sure the reader must be of what holds there.
LOOKS, SURE = 4, 0.5


def interval_of(picked: Picked, utterance: Utterance, slot: Slot | None, grammar: Grammar) -> tuple[int, int]:
    """When a value holds [from, until), as the piece of the message says that it stands in."""
    words = set(normalise_fact_key(picked.value).split())
    for segment in segments_of(utterance.text, grammar, utterance.said_at_us, utterance.zone):
        if words <= {key for word in segment.words for key in normalise_fact_key(word.said).split()}:
            return bounds(slot.kind if slot is not None else WHAT, segment, utterance.said_at_us, grammar)
    return utterance.said_at_us, OPEN


def with_end(
    word: Mirrored, at_us: int, last_us: int, passage_at: Callable[[int], Passage], read: Scorer, slot: Slot | None,
    grammar: Grammar,
) -> Mirrored:  # fmt: skip
    """A value that held at `at_us`, with its end where another one is read of a moment up to `last_us`.

    Raises what `read` raises.
    """
    until, moment = word.until_us, last_us
    for _ in range(LOOKS):
        if moment <= at_us:
            break
        passage = passage_at(moment)
        picked = pick_values(passage, read(passage).runs, grammar)
        if not picked or picked[0].run.chance < SURE or any(same_value(one.value, word.value, grammar) for one in picked):
            break
        utterance = passage.utterance(picked[0].run.first)
        begun, _ = interval_of(picked[0], utterance, slot, grammar)
        if not at_us < begun <= moment:
            break
        until, moment = min(until, begun), begun - 1
    return replace(word, until_us=until)

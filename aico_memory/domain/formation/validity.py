"""From the phrases of time of a clause to the interval in which what it says holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aico_memory.domain.formation.frames import Frame
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.when import TimePhrase
from aico_memory.domain.memory import OPEN


@dataclass(frozen=True, slots=True)
class Validity:
    """[from, until), and whether it is over by its own words ("I used to …")."""

    from_us: int
    until_us: int = OPEN
    over: bool = False
    # The clause itself bounds it; else it holds until something else is said.
    bounded: bool = False


def validity_of(frame: Frame, phrases: Sequence[TimePhrase], said_at_us: int, grammar: Grammar, sudden: bool) -> Validity:
    """`sudden` is what happens at a moment (moving) and holds from then on; anything else is a state."""
    start, until, named_start, bounded = said_at_us, OPEN, False, False
    past = frame.past or frame.once or frame.perfect
    for number in frame.times:
        phrase = phrases[number]
        span = phrase.bounds(past)
        if phrase.kind in ("since", "from", "held"):
            start, named_start = span[0], True
        elif phrase.kind in ("until", "lasting"):
            until, bounded = span[1], True
        elif sudden or frame.begun or frame.ended or frame.negated:
            # A span that holds the moment of speaking ("this week I moved") began before it.
            begins = span[0] if not (past and span[0] > said_at_us) else said_at_us
            start, named_start = (min(begins, said_at_us) if past else begins), True
        elif past and not frame.perfect:
            start, until, named_start, bounded = (
                span[0],
                min(span[1], said_at_us) if span[0] < said_at_us else span[1],
                True,
                True,
            )
        elif phrase.kind in ("ago",):
            start, named_start = span[0], True
        elif span[1] > said_at_us:
            start, until, named_start, bounded = max(span[0], said_at_us), span[1], True, True
        else:
            start, named_start = span[0], True
    over = frame.once or (frame.past and not frame.perfect and not sudden and not frame.begun and not frame.ended)
    if over and not named_start:
        return Validity(0, min(until, said_at_us), True, True)
    if over and until == OPEN:
        return Validity(start, said_at_us, True, True)
    return Validity(start, max(until, start) if until != OPEN else OPEN, over, bounded)

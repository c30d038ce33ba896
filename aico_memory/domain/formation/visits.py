"""Visits that are over: who visited Rome on Tuesday was there then, and is not there since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aico_memory.domain.formation.attributes import LOCATION, Found
from aico_memory.domain.formation.frames import Frame
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.validity import Validity, validity_of
from aico_memory.domain.formation.when import HABIT, TimePhrase, day_of


def is_past_visit(found: Found, frame: Frame, tables: FormationTables, grammar: Grammar) -> bool:
    """Whether the clause tells where somebody was ("I visited Rome", "Wir haben Köln besichtigt").

    "I've been travelling through Spain" goes on; what is denied or told to have begun or ended is no visit. Where somebody
    visits things, no predicate may be known for it ("we toured Tuscany").
    """
    over = frame.past or (frame.perfect and not frame.progressive)
    other = frame.negated or frame.ended or frame.begun or frame.once or frame.unreal or frame.future
    known = found.predicate == LOCATION or found.predicate not in tables.predicates
    return known and found.act == "" and over and not other and frame.verb in grammar.words["visits"]


def when_visited(frame: Frame, phrases: Sequence[TimePhrase], said_at_us: int, zone: str, grammar: Grammar) -> Validity:
    """The day or span that is named, and no later than now; else the day of the message, in the speaker's zone."""
    holds = validity_of(replace(frame, past=True, perfect=False), phrases, said_at_us, grammar, False)
    if holds.from_us == 0 and not any(phrases[number].kind == HABIT for number in frame.times):
        # The moment before: what is said at midnight was so on the day that ended.
        return replace(holds, from_us=min(day_of(said_at_us - 1, zone)[0], holds.until_us))
    return holds

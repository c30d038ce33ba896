"""What passes by itself: who is ill is so today, and may be well tomorrow."""

from __future__ import annotations

from dataclasses import replace

from aico_memory.domain.formation.attributes import Found
from aico_memory.domain.formation.frames import Frame
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.validity import Validity
from aico_memory.domain.formation.when import day_of
from aico_memory.domain.formation.wording import lower_in
from aico_memory.domain.memory import OPEN

STATUS = "status"


def for_the_day(found: Found, frame: Frame, holds: Validity, said_at_us: int, zone: str, grammar: Grammar) -> Validity:
    """When it holds: to the end of the day of the message, in the speaker's zone, where a passing state names no time.

    "I'm on sick leave" lasts until something else is said; feelings are not kept at all (`plausible` in the language's file).
    """
    passes = found.predicate == STATUS and lower_in(found.value, grammar.code) in grammar.words["passing"]
    if not passes or found.act or frame.negated or frame.ended or frame.times or holds.until_us != OPEN:
        return holds
    return replace(holds, until_us=day_of(said_at_us, zone)[1], bounded=True)

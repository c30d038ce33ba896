"""What one does on a day of the week: the doings whose time names that day."""

from __future__ import annotations

import re
from collections.abc import Sequence

from aico_memory.domain.formation.formed import SPEAKER
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.wording import lower_in
from aico_memory.domain.recall.timeline import Held

TIME = "time"


def weekday_asked(question: str, grammar: Grammar) -> str:
    """The day of the week in a question for what is done then ("What do I do on Tuesdays?"); empty in any other question."""
    lowered = lower_in(question, grammar.code)
    if grammar.doing is None or not grammar.doing.search(lowered):
        return ""
    return next((day for day in sorted(grammar.calendar.weekdays, key=len, reverse=True) if _names(lowered, day)), "")


def done_on(day: str, held: Sequence[Held], at_us: int, language: str) -> list[Held]:
    """The speaker's own doings that are told to happen on that day, and that held then."""
    kept = [one for one in held if one.predicate == TIME and one.holds_at(at_us)]
    doings = {one.subject.casefold() for one in kept if _names(lower_in(one.fact.value, language), day)}
    return [
        one
        for one in held
        if one.subject == SPEAKER and one.holds_at(at_us) and one.fact.value.casefold() in doings and one.predicate != TIME
    ]


def _names(text: str, day: str) -> bool:
    return bool(re.search(rf"(?<!\w){re.escape(day)}(?:s|abends?|morgens?|l[ae]r[ıi]?)?(?!\w)", text))

"""Facts that are of another sort than what a question asks for: a name where it asks when, a language where it asks who."""

from __future__ import annotations

from aico_memory.domain.formation.attributes import ATTRIBUTE
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.wording import lower_in, trim
from aico_memory.domain.recall.matching import stems
from aico_memory.domain.recall.question import Question
from aico_memory.domain.recall.timeline import Held

# What one does, eats and measures is nobody.
_NOBODY = frozenset(
    {"learning", "plays", "eats", "drinks", "hobby", "language", "studies", "age", "weight", "height", "price", "frequency"}
)


def of_another_sort(one: Held, question: Question, grammar: Grammar) -> bool:
    """Whether the fact cannot be what the question asks for."""
    if question.asks == "who" and not question.yes_no:
        words = stems(one.fact.value, question.language)
        return one.predicate in _NOBODY and (one.subject in question.text.casefold() or words <= question.stems)
    return question.asks == "when" and one.predicate.startswith(ATTRIBUTE) and _is_only_a_name(one.fact.value, grammar)


def _is_only_a_name(value: str, grammar: Grammar) -> bool:
    """Whether every word has a capital and none tells a time."""
    words = [trim(word) for word in value.split() if trim(word)]
    calendar = grammar.calendar
    known = (
        calendar.weekdays,
        calendar.months,
        calendar.units,
        calendar.days,
        calendar.seasons,
        calendar.holidays,
        calendar.numbers,
    )
    low = [form for word in words for form in (lower_in(word, grammar.code), lower_in(word, grammar.code).removesuffix("s"))]
    timed = any(word in some for word in low for some in known) or any(letter.isdigit() for letter in value)
    return bool(words) and not timed and all(word[:1].isupper() for word in words)

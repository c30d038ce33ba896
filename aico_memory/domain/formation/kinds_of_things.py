"""What kind of thing a value is, by what is known of objects and by its endings."""

from __future__ import annotations

import re

from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.wording import lower_in, trim

_HOUR_WORDS = frozenset({"uhr", "saat", "am", "pm", "o'clock", "at", "um", "half", "halb"})
_HOUR = re.compile(r"\d{1,2}(?:[:.]\d\d)?\.?(?:am|pm|h|st|nd|rd|th)?")


def _is_hour(words: list[str], grammar: Grammar) -> bool:
    """ "10", "9:30 uhr", "saat 11": a number, and nothing that is not of time."""
    numbers = [word for word in words if _HOUR.fullmatch(word)]
    return bool(numbers) and all(
        word in numbers or word in _HOUR_WORDS or word in grammar.words["prepositions"] | grammar.words["determiners"]
        for word in words
    )


def alike(one: str, other: str, tables: FormationTables, grammar: Grammar) -> bool:
    """Whether both could be values of the same thing: both times, both numbers, both names, or both of a known type."""
    if any(is_a(value, "when", tables, grammar) for value in (one, other)):
        return is_a(one, "when", tables, grammar) and is_a(other, "when", tables, grammar)
    if any(letter.isdigit() for letter in one) != any(letter.isdigit() for letter in other):
        return False
    if one[:1].isupper() and other[:1].isupper():
        return True
    left, right = lower_in(one, grammar.code), lower_in(other, grammar.code)
    if any(left in known and right in known for known in tables.types.values()):
        return True
    words = right.split()
    # Common nouns: short, and nothing but words that mean something.
    return len(words) <= 3 and not any(
        word in grammar.words[group] for word in words for group in ("adverbs", "pronouns", "stops")
    )


def same_words(one: str, other: str) -> bool:
    """Whether one of two normalised objects holds the other."""
    return bool(one) and bool(other) and (one in other or other in one)


def is_a(value: str, what: str, tables: FormationTables, grammar: Grammar) -> bool:
    """Whether the value is of the type, by its last word or as a whole."""
    low = lower_in(value, grammar.code)
    words = [trim(word) for word in low.split()]
    if not words:
        return False
    if what == "number":
        return words[0].isdigit() or words[0] in grammar.calendar.numbers
    if what == "org":
        named = value[:1].isupper() and not any(low in known for known in tables.types.values())
        return named or words[-1].removesuffix("'s") in tables.types["workplace"]
    if what == "leading":
        return words[0] in tables.types["leading"]
    if what == "dose":
        return words[0][:1].isdigit()
    if what == "name":
        return value[:1].isupper() and len(words) <= 3 and not any(low in known for known in tables.types.values())
    if what == "when":
        return (
            any(mark.search(low) for mark in grammar.marks["clock"])
            or any(
                word in grammar.calendar.weekdays or word in grammar.calendar.days or word in grammar.calendar.months
                for word in words
            )
            or _is_hour(words, grammar)
        )
    if what == "relation":
        return words[-1] in grammar.relations or low in grammar.relations
    if what == "event":
        return any(words[-1].endswith(event) for event in grammar.words["events"])
    if what == "profession":
        if low in grammar.words["professions"] or words[-1] in grammar.words["professions"]:
            return True
        return (
            words[-1].endswith(tables.profession_endings.get(grammar.code, ()))
            and not any(low in known or words[-1] in known for kind, known in tables.types.items() if kind != "profession")
            and (grammar.code != "de" or (value.rsplit(maxsplit=1)[-1][:1].isupper() and len(words) <= 2))
        )
    if any(part in f"{low} " for part in tables.parts.get(what, ())):
        return True
    known = tables.types.get(what, frozenset())
    return low in known or any(word in known for word in words) or (" ".join(words[-2:]) in known)

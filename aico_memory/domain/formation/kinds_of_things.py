"""What kind of thing a value is, by what is known of objects and by its endings."""

from __future__ import annotations

import re

from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.wording import lower_in, trim

_MAKERS = frozenset({"car", "phone"})
# What is taken with something, or without it.
_BESIDE = frozenset({"with", "without"})
# What a time begins with that no calendar has by itself.
_OF_TIME = frozenset(["noon", "midnight", "half", "every", "each", "this", "next", "last", "coming", "early", "late"])
_HOUR_WORDS = frozenset(
    {
        "sabah",
        "akşam",
        "gece",
        "öğlen",
        "morgens",
        "abends",
        "nachts",
        "uhr",
        "saat",
        "am",
        "pm",
        "o'clock",
        "at",
        "um",
        "half",
        "halb",
    }
)
# Words of an age beside numbers and units of time.
_AGED = frozenset(["and", "a", "half", "old", "now", "today", "already", "nearly", "almost", "about"])
_TENS = frozenset(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety", "eleven", "hundred"])
_TALL = re.compile(r"\b(?:foot|feet|ft|cm|centimet(?:re|er)s|met(?:re|er)s?)\b|\d'\d|\d m\b")
_DOSED = frozenset(["mg", "gr", "g", "ml", "mcg", "damla", "ünite"])
_HOUR = re.compile(r"(?:[0-2]?\d|3[01])(?:[:.]\d\d)?\.?(?:am|pm|h|st|nd|rd|th)?")


def _is_hour(words: list[str], grammar: Grammar) -> bool:
    """ "10", "9:30 uhr", "saat 11": a number, and nothing that is not of time."""
    numbers = [word for word in words if _HOUR.fullmatch(word)]
    return bool(numbers) and all(
        word in numbers or word in _HOUR_WORDS or word in grammar.words["prepositions"] | grammar.words["determiners"]
        for word in words
    )


def alike(one: str, other: str, tables: FormationTables, grammar: Grammar) -> bool:
    """Whether both could be values of the same thing: both times, both numbers, both names, or both of a known type."""
    if one.isdigit() and other.isdigit():
        # "The 71", of a house that was told to have number 17: only one of them may be an hour.
        return True
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


def _place_first(value: str, grammar: Grammar) -> bool:
    """ "Antwerp in May" is a place; in German every noun has a capital."""
    first = value.split(maxsplit=1)[0]
    whole = lower_in(trim(first), grammar.code).split("'")[0]
    low = whole.removesuffix("s")
    calendar = grammar.calendar
    known = any(low in words for words in (calendar.weekdays, calendar.months, calendar.days, calendar.steps, calendar.numbers))
    opens = any(low in phrase.split() for words in (calendar.days, calendar.steps) for phrase in words)
    plain = any(low in grammar.words[group] for group in ("prepositions", "determiners", "adverbs"))
    return grammar.code == "en" and first[:1].isupper() and not (known or opens or plain or whole in _OF_TIME)


def are_folks(value: str, grammar: Grammar) -> bool:
    """Whether the value names people by what they are to one ("Eltern", "my parents")."""
    if grammar.code != "de" and value[:1].isupper() and " " in value:
        # "Baker & Sons"
        return False
    last = lower_in(value, grammar.code).split()[-1:]
    forms = {form for word in last for form in (word, *(word.removesuffix(end) for end in ("s", "n", "en")))}
    return bool(forms & grammar.words["people"]) or any(form in grammar.relations for form in forms)


def is_a(value: str, what: str, tables: FormationTables, grammar: Grammar) -> bool:  # noqa: PLR0912
    """Whether the value is of the type, by its last word or as a whole."""
    low = lower_in(value, grammar.code)
    words = [trim(word) for word in low.split()]
    if not words:
        return False
    if what == "number":
        return words[0].isdigit() or words[0] in grammar.calendar.numbers
    if what == "org":
        # Makers of cars and phones have people who work for them.
        named = value[:1].isupper() and not any(low in known for kind, known in tables.types.items() if kind not in _MAKERS)
        return named or words[-1].removesuffix("'s") in tables.types["workplace"]
    if what == "leading":
        return words[0] in tables.types["leading"]
    if what == "dose":
        # "13" of "iPhone 13" stands behind in Turkish.
        return words[0][:1].isdigit() and (grammar.parser != "turkish" or words[-1] in _DOSED)
    if what == "aged":
        counting = grammar.calendar.numbers.keys() | grammar.calendar.units.keys() | _AGED | _TENS
        counted = (word[:1].isdigit() or word.endswith("teen") or word in counting for word in re.split(r"[ -]", low))
        return is_a(value, "number", tables, grammar) and all(counted)
    if what == "tall":
        return bool(_TALL.search(low)) and (words[0][:1].isdigit() or words[0] in grammar.calendar.numbers)
    if what == "whom":
        return words[-1] not in grammar.words["determiners"]
    if what == "dated":
        calendar = grammar.calendar
        steps = {*calendar.steps, *calendar.days, *calendar.weekdays, *calendar.months}
        return is_a(value, "when", tables, grammar) and (words[0] in steps or words[0][:1].isdigit())
    if what == "manner":
        # "black", "with milk", never "at the office", "in the morning".
        placed = words[0] in grammar.words["prepositions"] - _BESIDE or words[0] in grammar.words["determiners"]
        return not placed and not is_a(value, "when", tables, grammar)
    if what == "name":
        return value[:1].isupper() and len(words) <= 3 and not any(low in known for known in tables.types.values())
    if what == "when":
        return not _place_first(value, grammar) and (
            any(mark.search(low) for mark in grammar.marks["clock"])
            or any(
                word in grammar.calendar.weekdays or word in grammar.calendar.days or word in grammar.calendar.months
                for word in words
            )
            or (words[0] in _OF_TIME and (words[-1] in grammar.calendar.units or words[-1] in grammar.calendar.seasons))
            or _is_hour(words, grammar)
        )
    if what == "liked":
        # "Reading crime novels", never "reading in bed", "eating out", "watching him".
        return not any(
            words[0] in grammar.words[name] for name in ("prepositions", "adverbs", "particles", "pronouns", "no_values")
        )
    if what == "relation":
        return words[-1] in grammar.relations or low in grammar.relations
    if what == "done":
        # "The bins are collected on Mondays", never "closed on Mondays".
        done = grammar.tenses.get(words[0]) in ("past", "participle") or words[0].endswith("ed")
        return done and not any(words[0] in grammar.words[group] for group in ("over", "cancels", "lost"))
    if what == "study":
        # "hukuk", never "Tutunamayanlar'ı": what is read in plural, or has a name, is a book.
        fields, book = tables.types["field"], words[-1].endswith(("ları", "kitabı", "romanı"))
        return low in fields or words[-1] in fields or (value[:1].islower() and not book)
    if what == "event":
        ends = (words[-1], words[-1].removesuffix("s")) if grammar.code == "en" else (words[-1],)
        return any(end.endswith(event) for end in ends for event in grammar.words["events"])
    if what == "profession":
        if low in grammar.words["professions"] or words[-1] in grammar.words["professions"]:
            return True
        if grammar.code == "tr" and words[-1].endswith(("ler", "lar")):
            return False
        return (
            words[-1].endswith(tables.profession_endings.get(grammar.code, ()))
            and not any(low in known or words[-1] in known for kind, known in tables.types.items() if kind != "profession")
            and (grammar.code != "de" or (value.rsplit(maxsplit=1)[-1][:1].isupper() and len(words) <= 2))
        )
    if any(part in f"{low} " for part in tables.parts.get(what, ())):
        return True
    known = tables.types.get(what, frozenset())
    # "C" is a language to write code in, a "C class licence" is none.
    return low in known or any(word in known for word in words if len(word) > 1) or (" ".join(words[-2:]) in known)

"""What recurs: "on Tuesdays", "jeden Mittwoch", "her perşembe" says when something is, and bounds nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from aico_memory.domain.formation.attributes import FREQUENCY, LOCATION, TIME, Found, cut, unpreposed
from aico_memory.domain.formation.formed import SPEAKER
from aico_memory.domain.formation.frames import Frame, shorten
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.when import HABIT, TimePhrase
from aico_memory.domain.formation.wording import first_of, lower_in, trim
from aico_memory.domain.memory import OPEN

ACTIVITIES = frozenset({"plays", "hobby", "learning", "training", "gym", "owns", "member", "work_mode", "volunteering"})
MOST_WORDS = 3
TRIP = "trip"
# What one starts, so that one may ask when.
BEGUN = frozenset({"school", "employer", "studies", "learning"})
_ALWAYS = (0, OPEN)
_YEAR = re.compile(r"\d{4}")


def with_habits(text: str, phrases: Sequence[TimePhrase], grammar: Grammar) -> list[TimePhrase]:
    """The phrases of time of a text; those that recur are one phrase each, which has no beginning and no end."""
    found = list(phrases)
    for mark in (*grammar.marks["habit"], *grammar.marks["frequency"]):
        for match in mark.finditer(text):
            if any(one.kind == HABIT and one.start < match.end() and match.start() < one.end for one in found):
                continue
            found = [one for one in found if one.end <= match.start() or match.end() <= one.start]
            found.append(TimePhrase(match.start(), match.end(), HABIT, match.group(), _ALWAYS, _ALWAYS))
    return sorted(found, key=lambda one: one.start)


def same_days(text: str, recent: Sequence[str], grammar: Grammar) -> str:
    """ "I run on those days instead": the days that the newest message with such days named."""
    if not any(mark.search(text) for mark in grammar.marks["same_days"]):
        return text
    for earlier in reversed(recent):
        days = next((found["v"] for mark in grammar.marks["habit"] if (found := mark.search(earlier))), "")
        if days:
            for mark in grammar.marks["same_days"]:
                text = mark.sub(f"on {days}", text)
            break
    return text


def without_names(text: str, phrases: Sequence[TimePhrase], grammar: Grammar) -> list[TimePhrase]:
    """The phrases of time without months that are names and years that are codes."""
    return [phrase for phrase in phrases if not (_is_first_name(phrase, text, grammar) or _is_code(phrase, text, grammar))]


def _is_code(phrase: TimePhrase, text: str, grammar: Grammar) -> bool:
    """ "The door code is 1903": four digits alone behind what has a number for its value."""
    if not _YEAR.fullmatch(phrase.phrase):
        return False
    words = lower_in(text[: phrase.start], grammar.code).split()[-MOST_WORDS - 1 :]
    # "Türcode", "kodu"
    begins, ends = grammar.parser == "turkish", grammar.parser == "german"
    return any(
        word == code or (begins and word.startswith(code)) or (ends and word.endswith(code))
        for word in words
        for code in grammar.words["codes"]
    )


def _is_first_name(phrase: TimePhrase, text: str, grammar: Grammar) -> bool:
    """ "Juli Zeh", "April Jones": a month alone in front of a name is a name."""
    after = text[phrase.end :].split()
    alone = phrase.kind == "at" and phrase.phrase in grammar.calendar.months and text[phrase.start].isupper()
    if alone and _listed_name(text[: phrase.start], grammar):
        return True
    return alone and bool(after) and after[0][:1].isupper() and text[phrase.end : phrase.end + 1] == " "


def _listed_name(before: str, grammar: Grammar) -> bool:
    """ "My sisters Ella and June": behind another name and an "and"."""
    words = before.replace(",", " ,").split()
    listed = len(words) > 1 and (words[-1] == "," or any(mark.fullmatch(f" {words[-1]} ") for mark in grammar.marks["listed"]))
    name = words[-2] if listed else ""
    low = lower_in(name, grammar.code)
    return name[:1].isupper() and low not in grammar.calendar.months and low not in grammar.words["speaker"]


def times_of(
    found: Sequence[Found], frame: Frame, phrases: Sequence[TimePhrase], raw: Sequence[str], grammar: Grammar
) -> Iterator[Found]:
    """ "I play padel on Tuesdays": when padel is, or how often, beside that it is played."""
    yield from _beside_the_time(found, frame, grammar)
    yield from _departure(found, frame, phrases, raw, grammar)
    said: dict[str, str] = {}
    for number in frame.times:
        if phrases[number].kind == HABIT:
            often = any(mark.search(raw[number]) for mark in grammar.marks["frequency"])
            said.setdefault(FREQUENCY if often else TIME, raw[number])
    for name, phrase in said.items():
        yield from _time_of(found, frame, phrase, name, grammar)


def _time_of(found: Sequence[Found], frame: Frame, said: str, name: str, grammar: Grammar) -> Iterator[Found]:
    if frame.subject.subject != SPEAKER or any(one.predicate == TIME for one in found) or (frame.negated and found):
        return
    things = [one.value for one in found if one.predicate in ACTIVITIES and one.act == ""]
    if not things and frame.verb in grammar.words["attends"]:
        things = [thing_of(frame, grammar)]
    if (
        not things
        and not found
        and not cut(f" {thing_of(frame, grammar)}", grammar).strip()
        and frame.verb not in grammar.words["no_open"]
    ):
        # "I run on Sundays": the doing itself.
        things = [frame.verb]
    if not things and name == FREQUENCY and found and frame.verb not in grammar.words["no_open"]:
        # "I call my aunt once a week."
        things = [f"{frame.verb} {found[0].value}"]
    for thing in things:
        noun = lower_in(thing, grammar.code)
        if noun and len(noun.split()) <= MOST_WORDS:
            yield Found(noun, name, said if name == FREQUENCY else unpreposed(said, grammar), True, "fact", temporal=True)


def _beside_the_time(found: Sequence[Found], frame: Frame, grammar: Grammar) -> Iterator[Found]:
    """ "The wedding is on 9 May in Florence": where, beside when."""
    timed = next((one for one in found if one.predicate == TIME and one.act == "" and one.subject != SPEAKER), None)
    if timed is None or frame.negated or grammar.parser != "english" or any(one.predicate == LOCATION for one in found):
        return
    words = first_of(frame.rest).split()
    at = next((i for i, word in enumerate(words[:-1]) if word in ("in", "at")), -1)
    value = shorten(cut(" ".join(words[at + 1 :]), grammar), grammar) if at >= 0 else ""
    clock = any(mark.search(f"at {lower_in(value, grammar.code)}") for mark in grammar.marks["clock"])
    if value and len(value.split()) <= MOST_WORDS and not clock and not any(letter.isdigit() for letter in value):
        yield Found(timed.subject, LOCATION, value, True, "fact", temporal=True)


def _departure(
    found: Sequence[Found], frame: Frame, phrases: Sequence[TimePhrase], raw: Sequence[str], grammar: Grammar
) -> Iterator[Found]:
    """ "We're flying to Crete on 8 May", "she starts school in June": when that is, beside where to."""
    on = next((number for number in frame.times if phrases[number].kind in ("at", "ahead")), -1)
    begins = frame.verb in grammar.words["begins"] and not (frame.past or frame.perfect)
    dated = (one for one in found if (one.predicate == TRIP or (begins and one.predicate in BEGUN)) and one.act == "")
    trip = next(dated, None)
    if on >= 0 and trip is not None and not frame.negated and not any(one.predicate == TIME for one in found):
        when = re.sub(r"^(?:on|in|at|by) ", "", raw[on])
        yield Found(trip.value.casefold(), TIME, when, True, "fact", temporal=True)


def day_fallen(frame: Frame, phrases: Sequence[TimePhrase], raw: Sequence[str], grammar: Grammar) -> str:
    """The day of the week on which something is called off: "thursdays" for good, "thursday" once; else empty."""
    for number in frame.times:
        for word in lower_in(raw[number], grammar.code).split():
            day = next((one for one in (trim(word), trim(word).removesuffix("s")) if one in grammar.calendar.weekdays), "")
            if day:
                again = phrases[number].kind == HABIT or frame.verb in grammar.words["strikes"]
                return f"{day}s" if again else day
    return ""


def thing_of(frame: Frame, grammar: Grammar) -> str:
    """What is done, without where and with whom ("go to the gym": the gym)."""
    reading = frame.readings[0].removeprefix(frame.verb) if grammar.code == "tr" else frame.rest
    words = [word for word in unpreposed(trim(first_of(reading)), grammar).split() if not word.startswith("@")]
    at = next(
        (i for i, word in enumerate(words) if i and lower_in(word, grammar.code) in grammar.words["prepositions"]), len(words)
    )
    return " ".join(words[:at])

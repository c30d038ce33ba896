"""From the phrases of time of a clause to the interval in which what it says holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aico_memory.domain.formation.frames import HOLDER, Frame
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.when import HABIT, TimePhrase
from aico_memory.domain.formation.wording import squeeze
from aico_memory.domain.memory import OPEN

_DAY_US = 86_400_000_000
# What is told to be for a season that is this near is so already ("back on vitamin D for the winter", in November).
_SOON_US = 45 * _DAY_US
# Phrases of time that say how long, never when.
BOUNDING = frozenset({"since", "from", "until", "held", "lasting"})
# A span of so much or more is a week or a longer one.
_WEEK_US = 6 * _DAY_US


@dataclass(frozen=True, slots=True)
class Validity:
    """[from, until), and whether it is over by its own words ("I used to …")."""

    from_us: int
    until_us: int = OPEN
    over: bool = False
    # The clause itself bounds it; else it holds until something else is said.
    bounded: bool = False


def with_holders(text: str, phrases: Sequence[TimePhrase]) -> str:
    """The text with a holder in the place of each phrase of time."""
    parts, at = [], 0
    for number, phrase in enumerate(phrases):
        parts += [text[at : phrase.start], f" §{number} "]
        at = phrase.end
    return squeeze("".join([*parts, text[at:]]))


def bounds_of(frame: Frame, phrases: Sequence[TimePhrase]) -> frozenset[int]:
    """Those phrases of time of a clause that only bound how long it holds: since, until, and "this week it's on Thursday"."""
    bounds = {number for number in frame.times if phrases[number].kind in BOUNDING}
    words = frame.text.split()
    opens = HOLDER.fullmatch(words[0].rstrip(",")) if words else None
    if opens is None or HOLDER.search(words[1] if len(words) > 1 else ""):
        return frozenset(bounds)
    span = phrases[int(opens[1])]
    days = [number for number in frame.times if number != int(opens[1]) and number not in bounds]
    if span.kind == "at" and span.future[1] - span.future[0] >= _WEEK_US and days:
        # The week or month that opens the clause is that of the day which it names.
        bounds.add(int(opens[1]))
    return frozenset(bounds)


def end_of_named_day(value: str, frame: Frame, phrases: Sequence[TimePhrase], said_at_us: int, grammar: Grammar) -> int:
    """When "tomorrow" is over, of a time that is told by it; OPEN where the value names no day that goes with the day."""
    said = value.casefold()
    days = [day for day in grammar.calendar.days if day in said]
    ends = [
        phrases[number].future[1]
        for number in frame.times
        if any(f"{phrases[number].phrase} ".startswith(f"{day} ") for day in days)
    ]
    return max((end for end in ends if end > said_at_us), default=OPEN)


def weeks_of_days(frame: Frame, phrases: Sequence[TimePhrase], said_at_us: int) -> frozenset[int]:
    """ "Just this week it's on Friday": the spans of now beside a day, which bound how long that day holds."""
    spans = {number: phrases[number].future for number in frame.times if phrases[number].kind == "at"}
    days = [number for number, span in spans.items() if span[1] - span[0] <= _DAY_US * 1.1]
    return frozenset(
        number for number, span in spans.items() if days and number not in days and span[0] <= said_at_us < span[1]
    )


def _is_to_last(phrase: TimePhrase, frame: Frame, grammar: Grammar) -> bool:
    """ "I'm in Rome for two weeks": from now on, where "I've been in Rome for two weeks" tells how long it has been so."""
    done = frame.past or frame.perfect or frame.once or frame.ended or frame.negated
    if grammar.parser != "english" or done:
        return False
    words = set(phrase.phrase.split())
    # Who is somewhere "for two years" may as well have been there.
    near = any(grammar.calendar.units.get(word) in ("day", "week", "month") for word in words)
    return near and words.isdisjoint({"now", "already", "past", "last"})


def validity_of(  # noqa: PLR0912
    frame: Frame, phrases: Sequence[TimePhrase], said_at_us: int, grammar: Grammar, sudden: bool
) -> Validity:
    """`sudden` is what happens at a moment (moving) and holds from then on; anything else is a state."""
    start, until, named_start, bounded, since = said_at_us, OPEN, False, False, 0
    past = frame.past or frame.once or frame.perfect or frame.happened
    for number in frame.times:
        phrase = phrases[number]
        if phrase.kind == HABIT:
            continue
        span = phrase.bounds(past)
        if phrase.kind == "until" and frame.perfect and frame.verb in grammar.words["for_a_time"]:
            # "I've borrowed it until April": done, and to last.
            span = phrase.future
        if phrase.kind == "held" and _is_to_last(phrase, frame, grammar):
            until, bounded = said_at_us + (said_at_us - phrase.past[0]), True
            continue
        if phrase.kind == "from" and 0 <= said_at_us - phrase.past[0] < _DAY_US:
            # "From 1 April", said on that day.
            span = phrase.past
        if phrase.kind == "from" and frame.perfect:
            # "I've been hired, starting in June": what is done announces; the nearer beginning is meant.
            start, named_start = min((phrase.future[0], phrase.past[0]), key=lambda at: abs(at - said_at_us)), True
        elif phrase.kind in ("since", "from", "held"):
            start, named_start = span[0], True
            since = phrase.past[0] if phrase.kind == "from" else start
        elif phrase.kind in ("until", "lasting"):
            until, bounded = span[1], True
            if phrase.kind == "lasting" and (span[0] > said_at_us + _SOON_US or span[1] <= said_at_us):
                # "For the summer", said long before it or after it.
                start, named_start = span[0], True
            # "From 1 January to 30 June", said in between.
            start = since if start > until and since else start
        elif phrase.kind == "at" and not past and frame.verb in grammar.words["aims"]:
            # "I'm training for a race in October": the race is then, the training is now.
            continue
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
    if past and not named_start and until <= said_at_us:
        # "Ich habe bis März in Rom gewohnt": since whenever, and no longer.
        return Validity(0, until, True, True)
    if over and until == OPEN:
        return Validity(start, said_at_us, True, True)
    return Validity(start, max(until, start) if until != OPEN else OPEN, over, bounded)

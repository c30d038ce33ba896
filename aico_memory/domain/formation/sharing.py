"""Which of several things of one clause a phrase of time speaks of: "Netflix, and Disney+ until June" ends one of the two."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from aico_memory.domain.formation.frames import Frame
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.when import TimePhrase
from aico_memory.domain.formation.wording import lower_in

# Phrases that say how long something holds.
_BOUNDS = frozenset({"since", "from", "held", "until", "lasting"})
# A phrase that stands behind a comma ("…, hazirana kadar da …") opens a part of its own.
_APART = re.compile(r", ?(?=§\d)")


@dataclass(frozen=True, slots=True)
class _Cut:
    """A place where a list goes on: "and"."""

    start: int
    end: int
    # "…, and …"
    comma: bool


def shared(value: str, values: Sequence[str], frame: Frame, phrases: Sequence[TimePhrase], grammar: Grammar) -> Frame:
    """The frame with those phrases of time only that speak of `value`, which is one of the clause's `values`.

    A phrase speaks of everything, unless it stands among the things ("Netflix und bis Juni Disney+", "Disney+ until June and
    Netflix") or behind the second of two that a comma sets apart.
    """
    text = lower_in(frame.text, grammar.code)
    cuts = sorted(
        [
            _Cut(match.start(), match.end(), match.group().startswith(",") or text[: match.start()].endswith(","))
            for mark in grammar.marks["listed"]
            for match in mark.finditer(text)
        ]
        + [_Cut(match.start(), match.end(), False) for match in _APART.finditer(text)],
        key=lambda cut: cut.start,
    )
    at = _place(lower_in(value, grammar.code), text)
    if at < 0 or not cuts or not frame.times:
        return frame
    others = [place for one in values if one != value and (place := _place(lower_in(one, grammar.code), text)) >= 0]
    kept = tuple(number for number in frame.times if _speaks_of(number, at, others, cuts, text, phrases))
    own = {number for number in kept if _closes(number, at, cuts, text, phrases)}
    if own:
        # "Netflix until May and Disney+ until June": what has an end of its own takes no other's.
        kept = tuple(number for number in kept if number in own or phrases[number].kind not in _BOUNDS)
    return frame if kept == frame.times else replace(frame, times=kept)


def _place(value: str, text: str) -> int:
    """Where a value stands, as words of its own if it does ("Net" not in "Netflix"); -1 where it does not."""
    if not value:
        return -1
    alone = re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text)
    return alone.start() if alone else text.find(value)


def _closes(number: int, at: int, cuts: Sequence[_Cut], text: str, phrases: Sequence[TimePhrase]) -> bool:
    """Whether this phrase says how long it holds and stands behind the value in the same part of the list."""
    place = text.find(f"§{number}")
    return phrases[number].kind in _BOUNDS and place > at and not any(at < cut.end <= place for cut in cuts)


def _speaks_of(
    number: int, at: int, others: Sequence[int], cuts: Sequence[_Cut], text: str, phrases: Sequence[TimePhrase]
) -> bool:
    place = text.find(f"§{number}")
    if place < 0 or phrases[number].kind not in _BOUNDS:
        return True
    between = [cut for cut in cuts if min(at, place) < cut.end <= max(at, place)]
    if not between:
        return True
    if place < at:
        # "Disney+ until June and Netflix": told of what stands before it.
        closes = not text[place:].removeprefix(f"§{number}")[: between[0].start - place - len(f"§{number}")].strip(" ,")
        return not (closes and any(other < place for other in others))
    last = between[-1]
    opens = not text[last.end : place].strip() and bool(text[place:].removeprefix(f"§{number}").strip(" ,.!"))
    if opens or any(other > place for other in others):
        # "Netflix und bis Juni Disney+"
        return False
    # "Netflix, and Disney+ until June"; of "A, B, and C until June" nothing tells, and all of them end.
    listed = len(cuts) > 1 or "," in text[min(at, *others, at) : last.start].rstrip(",")
    return listed or not last.comma or "," in text[last.end : place]

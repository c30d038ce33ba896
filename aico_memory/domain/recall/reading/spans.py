"""What a piece of a message might answer with: runs of words that neither the question nor a function word takes up."""

from __future__ import annotations

from dataclasses import dataclass

from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.wording import squeeze
from aico_memory.domain.recall.segments import Segment
from aico_memory.domain.recall.slots import amounts_in, is_function, joined_runs, listed_values, runs_of

# A moment or a day; what bounds how long something holds; a number; anything else.
TIME, BOUND, NUMBER, WORDS = "time", "bound", "number", "words"


@dataclass(frozen=True, slots=True)
class Span:
    """Words [start, end) of a piece, of one sort, and the values that they list."""

    start: int
    end: int
    sort: str
    values: tuple[str, ...]


def spans_of(piece: Segment, taken: frozenset[int], grammar: Grammar) -> list[Span]:
    """All that might be a value; `taken` are the places of words that the question has as well."""
    words = piece.words
    free = [
        at not in taken and not word.timed and not word.bounds and not is_function(at, words, grammar)
        for at, word in enumerate(words)
    ]
    found = {(start, end, TIME) for start, end in runs_of([word.timed for word in words])}
    found |= {(start, end, BOUND) for start, end in runs_of([word.bounds for word in words])}
    found |= {(start, end, NUMBER) for start, end in amounts_in(words, free, taken)}
    found |= {(start, end, WORDS) for start, end in joined_runs(free, words, grammar)}
    found |= {(start, end, WORDS) for start, end in runs_of(free, [word.closes for word in words])}
    spans = []
    for start, end, sort in sorted(found):
        said = words[start:end]
        if sort == WORDS:
            values = tuple(value for value in listed_values(said, grammar) if value)
        else:
            values = (squeeze(" ".join(word.said for word in said)),)
        if values:
            spans.append(Span(start, end, sort, values))
    return spans

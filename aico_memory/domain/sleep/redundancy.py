"""Which items say the same, so that one of them is enough. Specification 5, phase 11.

Cosine only proposes: "likes tea" and "likes coffee" are as close as two wordings
of one thing, and so are "is" and "was", "to Rome" and "from Rome". A false merge
loses a fact, a missed one costs a line; so two items are one only where every
word that could carry meaning is the same, in the same order. What may differ are
words that carry none (articles, fillers: data of the language), case, punctuation,
and where in the sentence one phrase of time stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from aico_memory.clock import from_us
from aico_memory.domain.gate.statement import Known
from aico_memory.domain.lifecycle import may_fade
from aico_memory.domain.memory import Memory
from aico_memory.domain.retrieval.evidence import Floats
from aico_memory.domain.retrieval.tokens import fold
from aico_memory.domain.strength.forgetting import last_use_us

# Signs around a word that tell nothing.
_AROUND = ".,;:!?…\"'“”„«»()[]{}*_¡¿。！？、，؟،"
# Kinds of what happened or is to be done: the same words on another day are another thing.
_OF_A_DAY = frozenset({"episode", "plan", "task_state", "decision"})


class Wording(NamedTuple):
    """The words of a text that carry meaning, in order, without its one phrase of time; and that phrase."""

    words: tuple[str, ...]
    time: tuple[str, ...]


class Twins(NamedTuple):
    """One item that says what another says, and the other, into which it is merged."""

    kept: bytes
    merged: bytes
    cosine: float


Wordings = Callable[[Memory], Wording]


def close_pairs(vectors: Floats, first: int, last: int, cosine: float) -> list[tuple[int, int, float]]:
    """Pairs (i, j, cosine) with i in [first, last) and j > i, above `cosine`. `vectors`: shape (n, d), each of length 1.

    Every pair of the n rows is looked at exactly once over all ranges. Cosines in hundredths.
    """
    if first >= last:
        return []
    near = np.round(vectors[first:last] @ vectors[first:].T, 2)
    rows, columns = np.nonzero(near > cosine)
    return [
        (first + int(row), first + int(column), float(near[row, column]))
        for row, column in zip(rows, columns, strict=True)
        if column > row
    ]


def merges(
    items: Sequence[Known], pairs: Iterable[tuple[int, int, float]], wording: Wordings, threshold: float
) -> tuple[Twins, ...]:
    """Which of these pairs are one: each item goes into the most worth of those that say the same and stay themselves.

    `threshold`: mean access count of the scope; what is used more stays (BCM).
    """
    close: dict[int, dict[int, float]] = {}
    for left, right, cosine in pairs:
        close.setdefault(left, {})[right] = cosine
        close.setdefault(right, {})[left] = cosine
    stay: list[int] = []
    found: list[Twins] = []
    for place in sorted(close, key=lambda one: _worth(items[one]), reverse=True):
        item = items[place]
        into = next((one for one in stay if one in close[place] and same(items[one], item, wording)), None)
        if into is None or not may_merge(item.memory, threshold):
            stay.append(place)
        else:
            found.append(Twins(items[into].memory.memory_id, item.memory.memory_id, close[place][into]))
    return tuple(found)


def may_merge(memory: Memory, threshold: float) -> bool:
    """Whether an item may give way: neither anchored nor a flashbulb nor used more than most."""
    return may_fade(memory) and not memory.flashbulb and memory.access_count <= threshold


def same(one: Known, other: Known, wording: Wordings) -> bool:
    """Whether two items state one thing."""
    left, right = one.memory, other.memory
    if (left.kind, left.scope, left.owner) != (right.kind, right.scope, right.owner):
        return False
    if left.language and right.language and left.language != right.language:
        return False
    if one.predicate and other.predicate and _reading(one) != _reading(other):
        return False
    if (left.valid_until_us, left.temporal_type, left.speaker) != (right.valid_until_us, right.temporal_type, right.speaker):
        return False
    said, again = wording(left), wording(right)
    dated = left.kind in _OF_A_DAY or bool(said.time)
    if dated and from_us(left.said_at_us).date() != from_us(right.said_at_us).date():
        return False
    return bool(said.words) and said == again


def compared_words(text: str, language: str) -> list[str]:
    """The words of a text, folded, with every sign inside them ("can't", "C#", "-5", "3.5"); a question keeps its mark.

    Of unspaced writing the whole run is one word, so that only equal runs are equal.
    """
    found = [word.strip(_AROUND) for word in fold(text, language).replace("’", "'").split()]
    return [word for word in found if word] + (["?"] if text.rstrip().endswith(("?", "？", "؟")) else [])


def wording_of(words: Sequence[str], empty: frozenset[str], tells_time: Callable[[str], bool]) -> Wording:
    """The words of a text as they are compared: `empty` ones left out; one phrase of time may stand anywhere.

    Where words of time stand in several places ("sick yesterday, fine today") their places tell something, and stay.
    """
    kept = [word for word in words if word not in empty]
    places = [place for place, word in enumerate(kept) if tells_time(word)]
    together = bool(places) and places[-1] - places[0] + 1 == len(places)
    if not together:
        return Wording(tuple(kept), ())
    first, last = places[0], places[-1] + 1
    if first > 0 and last < len(kept):
        # In the middle of a sentence it may belong to the word before it ("the meeting of Monday").
        return Wording(tuple(kept), ())
    return Wording((*kept[:first], *kept[last:]), tuple(kept[first:last]))


def _reading(item: Known) -> tuple[str, str, str]:
    return item.subject, item.predicate, item.object_key


def _worth(item: Known) -> tuple[bool, bool, float, int, bytes]:
    """A reading answers questions, an anchor stays; then the more useful one, then the one used last."""
    memory = item.memory
    return not may_fade(memory), bool(item.predicate), memory.utility, last_use_us(memory), memory.memory_id

"""Items and tokens a context may have: never exceeded, lowest scores cut first, what is hot and pinned constraints last."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from functools import partial

from aico_memory.domain.context.items import FULL, SHORT, ContextItem, changed
from aico_memory.domain.retrieval.escaping import OF_PROMPTS, Markers
from aico_memory.domain.retrieval.formatting import format_block, format_line

ELLIPSIS = "…"
# The rule by which what is hot is left out.
HOT_SHARE = "hot_share"
# Tokens of text that a shortened item keeps at least: fewer say nothing.
LEAST_TEXT = 24
# Letters for each token there may be: beyond that a text is cut before its tokens are counted, which takes time.
LETTERS_PER_TOKEN = 16
Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Fitted:
    """What stays, as items and as text, and what was cut by which rule."""

    items: tuple[ContextItem, ...]
    text: str
    tokens: int
    dropped: tuple[tuple[str, str], ...]


def fit(
    items: Sequence[ContextItem],
    *,
    max_items: int,
    max_tokens: int,
    count: Count,
    item_share: float = 0.5,
    short_tokens: int | None = None,
    hot_share: float = 1.0,
    least_score: float = math.inf,
    zone: tzinfo = UTC,
    known: Markers = OF_PROMPTS,
) -> Fitted:
    """The best items (given best first) whose block has at most `max_tokens` by `count`, in their order.

    An item longer than its share of the tokens is shortened rather than dropped, but never to less than `LEAST_TEXT`;
    one that is shown in short has at most `short_tokens`. What is hot has `hot_share` of the tokens, and as large a share of
    the places is held for it, however little it matches. Beyond its tokens it is left out, unless it scores `least_score` at
    least, and beyond its places it competes. What answers the question, or matches so well that it is shown in full, is there
    because it was asked for, and takes none of that share; nor does how to answer. Days are those of the zone.
    What poses as one of the `known` markers is disarmed.
    """
    lines: dict[str, str] = {}
    sizes: dict[str, int] = {}
    share = int(max_tokens * item_share)

    def size_of(item: ContextItem) -> int:
        if item.id not in sizes:
            most = share if item.detail != SHORT or short_tokens is None else min(share, short_tokens)
            lines[item.id], sizes[item.id] = _line(item, most, count, partial(format_line, zone=zone, known=known))
        return sizes[item.id]

    dropped: list[tuple[str, str]] = []
    held: set[int] = set()
    left_out: set[int] = set()
    room, places = int(max_tokens * hot_share), math.ceil(max_items * hot_share)
    for at, item in enumerate(items):
        if not item.hot or item.anchored or item.answers or item.guiding or item.detail == FULL:
            continue
        if size_of(item) > room:
            # To be hot as well costs no match its place among the others.
            if item.score < least_score:
                left_out.add(at)
                dropped.append((item.id, HOT_SHARE))
            continue
        room -= sizes[item.id]
        if len(held) < places:
            held.add(at)
    # Best first for keeping: pinned constraints, what answers, what is hot, then by the order given.
    order = sorted(
        (at for at in range(len(items)) if at not in left_out),
        key=lambda at: (not items[at].anchored, not items[at].answers, not (items[at].guiding or at in held), at),
    )
    kept = order[:max_items]
    dropped += [(items[at].id, "max_items") for at in order[max_items:]]
    for at in kept:
        size_of(items[at])
    total = count(format_block([""])) + sum(sizes[items[at].id] for at in kept)
    while kept and total > max_tokens:
        total -= sizes[items[kept[-1]].id]
        dropped.append((items[kept.pop()].id, "max_tokens"))
    text, tokens = _block(items, kept, lines, count)
    # Tokens of lines do not always add up to those of the block: what counts is the block itself.
    while kept and tokens > max_tokens:
        dropped.append((items[kept.pop()].id, "max_tokens"))
        text, tokens = _block(items, kept, lines, count)
    chosen = tuple(changed(items[at], tokens=sizes[items[at].id]) for at in sorted(kept))
    return Fitted(chosen, text, tokens, tuple(dropped))


def shorten(text: str, limit: int, count: Count) -> str:
    """The longest beginning of a text, with an ellipsis, that has at most `limit` tokens; the text itself where it fits."""
    if count(text) <= limit:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if count(text[:middle].rstrip() + ELLIPSIS) <= limit:
            low = middle
        else:
            high = middle - 1
    return text[:low].rstrip() + ELLIPSIS


def _line(item: ContextItem, limit: int, count: Count, told: Callable[[ContextItem, str], str]) -> tuple[str, int]:
    """The item's line, of a shortened text where it has more than `limit` tokens, and its tokens."""
    most = LETTERS_PER_TOKEN * max(limit, LEAST_TEXT)
    text = item.text if len(item.text) <= most else item.text[:most].rstrip() + ELLIPSIS
    line = told(item, text)
    size = count(line)
    if size <= limit:
        return line, size
    line = told(item, shorten(text, max(LEAST_TEXT, count(text) - (size - limit)), count))
    return line, count(line)


def _block(items: Sequence[ContextItem], kept: Sequence[int], lines: dict[str, str], count: Count) -> tuple[str, int]:
    text = format_block([lines[items[at].id] for at in sorted(kept)])
    return text, count(text) if text else 0

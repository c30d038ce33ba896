"""What may stand in one context beside what: nothing inactive or doubtful, nothing twice, not too much of a kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence, Set

from aico_memory.domain.context.boosting import KIND
from aico_memory.domain.context.items import FULL, SHORT, ContextItem, changed
from aico_memory.domain.context.matching import folded_words, word_stems

# Kinds that speak of what is ahead by nature.
_AHEAD = frozenset({"plan", "task_state"})
Dropped = list[tuple[str, str]]
# The rule by which words give way to what was made of them.
SAID_BY_ITEM = "said_by_item"
# Items that compete for a place, for each place.
POOL = 2
# Cosine (or a stand-in) of two items, −1..1.
Likeness = Callable[[ContextItem, ContextItem], float]


def eligible(
    items: Sequence[ContextItem], *, least_confidence: float, historical: bool, now_us: int, ahead: bool = True
) -> tuple[list[ContextItem], Dropped]:
    """Only what is active, in force and believed.

    `historical`: what was once true is asked for as well; `ahead`: what begins later is. A plan is made, however far ahead
    it is carried out, and what answers the question is asked for, as much if it is over ("Where did I use to live?").
    """
    kept, dropped = [], Dropped()
    for item in items:
        over = bool(item.valid_until_us) and item.valid_until_us <= now_us
        once = item.status in ("active", "superseded", "expired", "disabled")
        past = historical or item.answers
        if item.status != "active" and not (past and once):
            dropped.append((item.id, f"status: {item.status}"))
        elif item.status == "superseded" and 0 < item.valid_until_us <= item.valid_from_us:
            # A correction ends what it corrects where it began: it held at no time.
            dropped.append((item.id, "never_true"))
        elif over and not past:
            dropped.append((item.id, "expired"))
        elif not ahead and _is_announced(item, now_us):
            dropped.append((item.id, "not_yet"))
        elif not item.raw and not item.anchored and item.confidence < least_confidence:
            dropped.append((item.id, "confidence"))
        else:
            # The night has not come by yet: until when it was is told all the same.
            kept.append(changed(item, over_us=item.valid_until_us) if over and item.status == "active" else item)
    return kept, dropped


def _is_announced(item: ContextItem, now_us: int) -> bool:
    """Whether it holds from a later time on; what somebody's clock put ahead has begun when it was said."""
    free = item.raw or item.anchored or item.answers or item.kind in _AHEAD
    return not free and item.valid_from_us > max(now_us, item.said_at_us)


def once_each(
    items: Sequence[ContextItem], *, covered: float, ignored: Set[str] = frozenset()
) -> tuple[list[ContextItem], Dropped]:
    """Of what says the same only one, given best first.

    The same words of one speaker count once (`same_words`), those of items once for each time at which they held. A record
    whose words an item that was made of it repeats (a share of at least `covered`), or several that match better do
    together, gives way (`said_by_item`), and so does an item of which a record says no less and which the question's answer
    does not need, where the item is the worse match of the two.
    Words in `ignored` (folded function words) say nothing.
    """
    kept, dropped = [], Dropped()
    seen: set[tuple[str, int, tuple[str, ...]]] = set()
    for item in items:
        key = (item.speaker if item.raw else "", _period(item), folded_words(item.text))
        if key in seen and not item.anchored:
            dropped.append((item.id, "same_words"))
        else:
            seen.add(key)
            kept.append(item)
    gone = _repeated(kept, covered, ignored)
    return [item for item in kept if item.id not in gone], [*dropped, *gone.items()]


def _period(item: ContextItem) -> int:
    """Which of the times it is at which the same was true: "lives in Porto" before Lisbon, and again; 0: what is so."""
    return 0 if item.raw or item.status == "active" else item.valid_from_us or item.said_at_us


def diversified(items: Sequence[ContextItem], likeness: Likeness, *, weight: float, most: int) -> list[ContextItem]:
    """Maximal marginal relevance (Carbonell, Goldstein 1998): λ·relevance − (1 − λ)·likeness to what is chosen already.

    Relevance is the score as a share of the best one: scores are chances of being right, and small ones all of them.
    Answers, anchors and what behavior selected stand first as they are; the first `most` places are chosen so, from the
    best `POOL` times as many, and the rest follows by score.
    """
    chosen = [item for item in items if _set(item)]
    left = [item for item in items if not _set(item)]
    left, rest = left[: POOL * most], left[POOL * most :]
    if weight >= 1.0:
        return chosen + left + rest
    nearest = [max((likeness(item, other) for other in chosen), default=0.0) for item in left]
    top = max((item.score for item in left), default=0.0) or 1.0
    relevance = [weight * item.score / top for item in left]
    # Places in `left` of what is not chosen yet, best first.
    open_places = list(range(len(left)))
    while open_places and len(chosen) < most:
        at = max(open_places, key=lambda place: relevance[place] - (1.0 - weight) * nearest[place])
        open_places.remove(at)
        best = left[at]
        chosen.append(best)
        if len(chosen) < most:
            for place in open_places:
                near = likeness(left[place], best)
                nearest[place] = max(nearest[place], near)
    return chosen + [left[place] for place in open_places] + rest


def _set(item: ContextItem) -> bool:
    """Whether its place depends on no score; that of guidance (L2) is on another scale."""
    return item.answers or item.anchored or item.guiding


def capped(items: Sequence[ContextItem], most_of_kind: int) -> tuple[list[ContextItem], Dropped]:
    """At most so many items of a kind; raw words, answers and anchors are not counted, what is hot stays."""
    counts: Counter[str] = Counter()
    kept, dropped = [], Dropped()
    for item in items:
        if not (item.raw or item.answers or item.anchored):
            counts[item.kind] += 1
            if counts[item.kind] > most_of_kind and not item.hot:
                dropped.append((item.id, "kind_cap"))
                continue
        kept.append(item)
    return kept, dropped


def gated(items: Sequence[ContextItem], *, full: float, short: float) -> tuple[list[ContextItem], Dropped]:
    """By the retrieval score: from `full` on in full, from `short` on in short, below left out.

    What answers, is hot, pinned, part of the conversation at hand, or among the best of the kinds that are asked for does not
    depend on a score. How to answer is told in full.
    """
    kept, dropped = [], Dropped()
    for item in items:
        if item.score >= full or item.answers or item.anchored or item.guiding:
            kept.append(item if item.detail == FULL else changed(item, detail=FULL))
        elif item.score >= short or item.hot or item.layer == "L0" or KIND in item.shares:
            kept.append(item if item.detail == SHORT else changed(item, detail=SHORT))
        else:
            dropped.append((item.id, "score"))
    return kept, dropped


class WordLikeness:
    """Share of common word beginnings (Jaccard), 0..1: where there are no vectors to compare. Each text is read once."""

    def __init__(self) -> None:
        # Each word has a bit, each text a number: what two have in common is counted without making a set of it.
        self._bits: dict[str, int] = {}
        self._words: dict[str, tuple[int, int]] = {}

    def __call__(self, one: ContextItem, other: ContextItem) -> float:
        left, right = self._words.get(one.id) or self._of(one), self._words.get(other.id) or self._of(other)
        shared = (left[0] & right[0]).bit_count()
        return shared / (left[1] + right[1] - shared) if shared else 0.0

    def _of(self, item: ContextItem) -> tuple[int, int]:
        """The text's words as bits, and how many they are."""
        stems, bits, found = word_stems(item.text), self._bits, 0
        for stem in stems:
            found |= 1 << bits.setdefault(stem, len(bits))
        self._words[item.id] = found, len(stems)
        return found, len(stems)


def _repeated(items: Sequence[ContextItem], covered: float, ignored: Set[str]) -> dict[str, str]:
    place = {item.id: at for at, item in enumerate(items)}
    by_event: dict[bytes, list[ContextItem]] = {}
    for item in items:
        if not item.raw:
            for event in item.evidence:
                by_event.setdefault(event, []).append(item)
    gone: dict[str, str] = {}
    for record in items:
        made = [one for event in record.evidence for one in by_event.get(event, ())] if record.raw else []
        if not made:
            continue
        words = word_stems(record.text, ignored)
        # One item that says it all, or several that match better: of several weaker ones some may find no room.
        better = (one for one in made if place[one.id] < place[record.id])
        told = max(
            (words & said for said in (set[str]().union(*(word_stems(one.text, ignored) for one in better)),
                                       *(word_stems(one.text, ignored) for one in made))), key=len,
        )  # fmt: skip
        if words and len(told) / len(words) >= covered:
            gone[record.id] = SAID_BY_ITEM
            continue
        for one in made:
            own = word_stems(one.text, ignored)
            plain = not (one.answers or one.anchored or one.hot)
            if plain and place[one.id] > place[record.id] and own and len(own & words) / len(own) >= covered:
                gone[one.id] = "said_by_record"
    return gone

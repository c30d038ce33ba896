"""One item of a context, whichever tier it came from."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

# In what detail an item is shown.
FULL, SHORT = "full", "short"
# An episodic record or a turn: raw words, which limits and caps of items do not bound.
RAW_KINDS = frozenset({"record", "turn"})


# Shares that move no score and say why an item is there whatever is asked.
HOT, PINNED = "hot", "pinned"

_NO_SHARES: Mapping[str, float] = MappingProxyType({})


class ContextItem(NamedTuple):
    """What is remembered, where it stands, and what it rests on.

    A tuple: a hundred are made for one question, and again by each rule that changes something of them.
    """

    id: str
    text: str
    kind: str
    tier: str
    # L0: still in the conversation's working memory; L1: long-term memory; L2: how to behave.
    layer: str
    score: float = 0.0
    shares: Mapping[str, float] = _NO_SHARES
    evidence: tuple[bytes, ...] = ()
    # Unix microseconds; 0: unknown.
    said_at_us: int = 0
    speaker: str = ""
    confidence: float = 1.0
    importance: float = 0.0
    pinned: bool = False
    tokens: int = 0
    # Its reading answers the question.
    answers: bool = False
    # Part of the hot tier: there whatever is asked.
    hot: bool = False
    detail: str = FULL
    status: str = "active"
    sub_tier: str = ""
    session_id: str = ""
    entities: tuple[str, ...] = ()
    utility: float = 0.5
    source_confidence: float = 1.0
    # Feeling, −1..1.
    valence: float = 0.0
    # Unix microseconds; 0: still true.
    valid_from_us: int = 0
    valid_until_us: int = 0
    # Of a record: since when nothing that was read in it holds any more; 0: it does, or nothing is known.
    over_us: int = 0

    @property
    def raw(self) -> bool:
        """Words as they were said, not distilled."""
        return self.kind in RAW_KINDS

    @property
    def guiding(self) -> bool:
        """How to answer, as behavior told it: there because it was asked for, whatever the question."""
        return self.layer == "L2"

    @property
    def anchored(self) -> bool:
        """A pinned constraint: the last to be cut, and never too little of a match."""
        return self.pinned and self.kind == "constraint"


_PLACES = {name: place for place, name in enumerate(ContextItem._fields)}


def changed(item: ContextItem, **changes: Any) -> ContextItem:
    """The item with other values of these fields. Raises KeyError for a field that there is not."""
    values = list(item)
    for name, value in changes.items():
        values[_PLACES[name]] = value
    return ContextItem._make(values)

"""One item of a context, whichever tier it came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ContextItem:
    """What is remembered, where it stands, and what it rests on."""

    id: str
    text: str
    kind: str
    tier: str
    # L0: still in the conversation's working memory; L1: long-term memory.
    layer: str
    score: float = 0.0
    shares: Mapping[str, float] = field(default_factory=dict)
    evidence: tuple[bytes, ...] = ()
    # Unix microseconds; 0: unknown.
    said_at_us: int = 0
    speaker: str = ""
    confidence: float = 1.0
    importance: float = 0.0
    pinned: bool = False
    tokens: int = 0


def drop_repetitions(items: Sequence[ContextItem]) -> tuple[list[ContextItem], list[tuple[str, str]]]:
    """Of items that one speaker said in the same words only the first; the others with the rule that dropped them."""
    seen: set[tuple[str, str]] = set()
    kept, dropped = [], []
    for item in items:
        key = (item.speaker, " ".join(item.text.casefold().split()))
        if key in seen:
            dropped.append((item.id, "same_words"))
        else:
            seen.add(key)
            kept.append(item)
    return kept, dropped

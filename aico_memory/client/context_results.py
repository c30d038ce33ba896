"""Shapes of what a client gets to put before a model, and of what it looks through step by step."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from aico_memory.client.results import HistoryEntry, Memory


class ContextItem(TypedDict, total=False):
    """One line of a context block; `shares` (what each feature and boost gave to the score) with explain=True.

    A share named `hot` or `pinned` gives nothing and says that the item is there whatever is asked.
    """

    id: str
    text: str
    kind: str
    # episodic | semantic | dormant, or "working" for a turn of the conversation.
    tier: str
    layer: str
    score: float
    evidence: list[str]
    tokens: int
    timestamp: str | None
    # full | short
    detail: str
    confidence: float
    status: str
    # Its reading answers the question.
    answers: bool
    valid_from: str | None
    # Of a record: since when nothing that was read in it holds any more.
    valid_until: str | None
    shares: dict[str, float]


class Context(TypedDict, total=False):
    """A block of text for a prompt, and where it comes from; `dropped` with explain=True."""

    text: str
    items: list[ContextItem]
    timings_ms: dict[str, float]
    degraded: list[str]
    tokens: int
    # What counted them.
    tokenizer: str
    model: str | None
    # The answer was kept from an earlier request; nothing in what it rests on has changed.
    cached: bool
    # Where a language model was to read the question: its name or "rules", and why it was these; None where none was.
    understood_by: str | None
    not_understood: str | None
    # How the one who asks feels, `valence` from −1 to 1, `from` request or conversation; None where nothing tells it.
    mood: dict[str, Any] | None
    # Kind of question, or what the gate recognised (greeting, acknowledgement, command, empty).
    intent: str
    # The questions that a compound one was taken apart into.
    parts: list[str]
    # What was left out, and by which rule.
    dropped: list[dict[str, str]]


class Beside(TypedDict):
    """What was said before or after."""

    id: str
    text: str
    timestamp: str | None


class Disclosed(TypedDict, total=False):
    """One memory at the depth asked for: `search` fills the first six, `timeline` up to `after`, `detail` all."""

    id: str
    kind: str
    text: str
    score: float
    days_ago: int
    # Of this entry, counted.
    tokens: int
    status: str
    value: str | None
    valid_from: str | None
    valid_until: str | None
    # What changed, oldest first, and what was said around it.
    changes: list[HistoryEntry]
    before: list[Beside]
    after: list[Beside]
    memory: Memory


class Disclosure(TypedDict):
    """What there is at a depth, and what it costs to read."""

    results: list[Disclosed]
    tokens: int
    # What the same memories would have cost with everything that is known of them.
    tokens_in_full: int
    tokenizer: str
    degraded: list[str]
    timings_ms: dict[str, float]
    # The answer was kept from an earlier request; nothing in what it rests on has changed.
    cached: bool


class Link(TypedDict):
    """A tie to another layer; `present` False: its other end was not found, None: whoever knows did not answer."""

    layer: str
    id: str
    what: str
    present: bool | None


class UnifiedHit(TypedDict):
    """A hit of one layer. L0: `id` is an event's; L1: a memory's; L2: a skill's."""

    layer: str
    id: str
    kind: str
    text: str
    score: float
    timestamp: str | None
    links: list[Link]


class UnifiedResults(TypedDict):
    """Best first."""

    results: list[UnifiedHit]
    degraded: list[str]
    timings_ms: dict[str, float]


class IndexFinding(TypedDict):
    """A link that led nowhere (`others`: what it named), or a memory that nothing proves."""

    id: str
    decision: str
    rule: str
    others: list[str]


class IndexUpdate(TypedDict):
    """What bringing memories up to date found and repaired. `vectors`: how many had none of their present text."""

    memories: int
    links: int
    dangling: int
    repaired: int
    without_record: int
    vectors: int
    findings: list[IndexFinding]


class VerifiedLinks(TypedDict):
    """What following the links found. `complete` False: it was cut by the limit or by time, or `degraded` did not answer."""

    memories: int
    links: int
    sound: int
    dangling: list[Link]
    without_record: list[Link]
    complete: bool
    degraded: list[str]
    # What was repaired before; only where that was asked for.
    repaired: NotRequired[IndexUpdate]

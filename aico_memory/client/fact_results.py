"""Shapes of what the verbs on facts return."""

from __future__ import annotations

from typing import TypedDict

from aico_memory.client.results import DetailedMemory, HistoryEntry, Memory


class Fact(TypedDict):
    """What answers a question. Times are ISO 8601 with zone, None where open."""

    id: str
    # The text; of a long one what stands around the value.
    memory: str
    # The shortest phrase of the object as it was said; None where there is none.
    value: str | None
    valid_from: str | None
    valid_until: str | None
    confidence: float
    # Ids of the events it rests on.
    evidence: list[str]


class Recall(TypedDict):
    """What answers a question and was true then; empty where nothing was."""

    results: list[Fact]
    # What could not be asked, "who: why"; the answer is then what the others say.
    degraded: list[str]


class Neighbour(TypedDict):
    """An item that stood beside the new statement."""

    id: str
    similarity: float
    same_key: bool
    # Why the values contradict; None where they do not.
    contradiction: str | None
    status: str


class Outcome(TypedDict):
    """What was done with one statement of a message, and why."""

    statement_id: str
    kind: str
    # assert | correct | end | retract
    act: str
    predicate: str | None
    importance: float
    channels: dict[str, float]
    confidence: float
    neighbours: list[Neighbour]
    # The policy's rule: "admitted", or why not.
    admission: str
    action: str
    rule: str
    reason: str
    target: str | None
    in_auto: str
    in_shadow: str
    # Sleep takes it up.
    waits: bool
    written: list[str]


class EventExplanation(TypedDict):
    """What the write path did with one message."""

    event_id: str
    filtered: list[str]
    classes: dict[str, float]
    density: int
    emotion: str
    valence: float
    arousal: float
    language: str | None
    strong: bool
    trace: list[str]
    statements: list[Outcome]


class Explanation(TypedDict):
    """Of an event: itself and what it made; of a memory: the events it rests on, and how it changed."""

    events: list[EventExplanation]
    memories: list[DetailedMemory]
    changes: list[HistoryEntry]


class Waiting(Memory):
    """A candidate or shadow, and what would have been done without review."""

    instead: str
    rule: str
    reason: str
    target: str | None
    target_memory: str | None


class ReviewQueue(TypedDict):
    """What waits, the most important first; `waiting` counts all."""

    results: list[Waiting]
    waiting: int


class ReviewOutcome(TypedDict):
    """What a review did: an action of the gate, or "rejected"."""

    id: str
    action: str
    rule: str
    memory: Memory
    # Other memories that it changed.
    changed: list[str]


class Policy(TypedDict):
    """A write policy; 0 stands for no limit, empty lists for all kinds and for none."""

    mode: str
    write_enabled: bool
    read_only: bool
    kinds: list[str]
    require_approval_kinds: list[str]
    min_confidence: float
    min_evidence: int
    session_writes: int
    hour_writes: int
    scope_items: int


class PolicyVersion(Policy):
    """A version of a policy: when it began to hold, who set it, which one it restored."""

    number: int
    at: str | None
    by: str
    restored: int | None


class PolicyState(TypedDict):
    """`scope` is "user:<id>", "group:<id>", "project:<id>", or "everybody"."""

    scope: str
    effective: Policy
    # The newest last; empty where the scope follows everybody's policy.
    versions: list[PolicyVersion]


class ShadowReport(TypedDict):
    """Counts by name of what was done, and of what the modes would have done."""

    messages: int
    statements: int
    done: dict[str, int]
    in_auto: dict[str, int]
    in_shadow: dict[str, int]
    rules: dict[str, int]
    filters: dict[str, int]
    # More was decided than is counted here.
    cut: bool


class Turn(TypedDict):
    """A turn that was added."""

    event_id: str
    interaction_id: str


class Reinforced(TypedDict):
    """A memory that grew more certain."""

    id: str
    old_confidence: float
    new_confidence: float


class Reinforcement(TypedDict):
    """What an interaction reinforced."""

    interaction_id: str
    results: list[Reinforced]

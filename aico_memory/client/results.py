"""Shapes of what a client returns: plain dicts, typed for readers and type checkers."""

from __future__ import annotations

from typing import Any, TypedDict


class Source(TypedDict):
    """A message that a memory rests on."""

    event_id: str
    role: str
    name: str | None
    timestamp: str | None
    metadata: dict[str, Any]


class Memory(TypedDict):
    """One memory. Times are ISO 8601 with zone; None where there is none."""

    id: str
    memory: str
    # Whose word it is.
    user_id: str | None
    # To whom it belongs: "user:<id>", "group:<id>", "project:<id>" or "global:global".
    scope: str | None
    session_id: str | None
    kind: str
    tier: str
    sub_tier: str | None
    status: str
    # An item, read: about whom ("user" is the speaker), what is said of it, the object as it was said.
    subject: str | None
    predicate: str | None
    value: str | None
    entities: list[str]
    language: str | None
    confidence: float
    importance: float
    utility: float
    # Event ids of the messages it rests on; `sources` tells more of each, the best-matching first.
    evidence: list[str]
    sources: list[Source]
    # That of the best-matching source.
    metadata: dict[str, Any]
    # When it was true; `valid_until` None: still.
    valid_from: str | None
    valid_until: str | None
    recorded_at: str | None
    created_at: str | None
    updated_at: str | None
    invalidated_at: str | None
    version: int
    superseded_by: str | None
    pinned: bool
    immutable: bool


class DetailedSource(Source):
    """A message that a memory rests on, and how it was taken from it."""

    # rule, llm_extract, user_explicit, replay or import; model and hash of the prompt stand in `metadata` ("read_by").
    method: str
    confidence: float
    # At most 300 characters of what was said.
    excerpt: str | None
    at: str | None


class Strength(TypedDict):
    """Stability in days and difficulty (FSRS-6), storage strength 1 to 10, retrieval strength now."""

    stability: float
    difficulty: float
    storage: float
    retrieval: float


class Use(TypedDict):
    """How often it was retrieved and referred to, and when last."""

    accesses: int
    last_accessed: str | None
    references: int
    last_referenced: str | None


class Feeling(TypedDict):
    """What was felt when it was said; a flashbulb memory was told with much arousal."""

    valence: float
    arousal: float
    emotion: str
    flashbulb: bool


class Provenance(TypedDict):
    """Who wrote it, what it comes from, and how far that is trusted."""

    write_source: str
    data_source: str
    source_confidence: float


class DetailedMemory(Memory):
    """One memory with all that is kept of it."""

    temporal_type: str
    # Normalised text, or the reading; of active items of a scope one has it.
    fact_key: str | None
    variant_of: str | None
    version_of: str | None
    # critical, high, normal or low.
    importance_level: str
    strength: Strength
    use: Use
    feeling: Feeling
    provenance: Provenance


class Found(Memory, total=False):
    """A memory that was searched for; `shares` and `layer` with explain=True.

    `answers`: it answers the question, as `recall` would, and stands first. Only such ones have `subject`, `predicate`
    and `value`. `over_since`: of a message, since when all that was read in it is replaced or corrected (ISO 8601), else
    None; it is found all the same, since it was said.
    """

    score: float
    answers: bool
    over_since: str | None
    shares: dict[str, float]
    layer: str


class SearchResults(TypedDict, total=False):
    """Best first; `dropped` and `intent` with explain=True."""

    results: list[Found]
    timings_ms: dict[str, float]
    # Tiers that did not answer in time or at all. With `semantic` among them nothing was searched, and no result means
    # nothing; `vectors: model_mismatch` asks for `aico-memory reindex --rebuild`.
    degraded: list[str]
    # The embedding model that answered; None where the search went by words alone.
    model: str | None
    # The answer was kept from an earlier request; nothing in what it rests on has changed.
    cached: bool
    intent: str
    dropped: list[dict[str, str]]


class MemoryPage(TypedDict):
    """All memories asked for."""

    results: list[Memory]


class ListedMemories(MemoryPage):
    """Memories up to a limit."""

    # There is more than was asked for.
    cut: bool


class RawMessage(TypedDict):
    """A message as it stands in working memory."""

    event_id: str
    session_id: str | None
    role: str
    name: str | None
    content: str
    timestamp: str | None
    metadata: dict[str, Any]


class HistoryEntry(TypedDict):
    """One change of a memory."""

    memory_id: str
    # ADD | UPDATE, or why it holds no longer: SUPERSEDE (something else took its place) | RETRACT (it was never true) |
    # EXPIRE | DISABLE | DELETE (the user took it away); else the field that changed, in capitals.
    event: str
    # By its name in a memory (`valid_until`), or "created".
    field: str
    # The text before and after; None where the memory did not hold.
    old_memory: str | None
    new_memory: str | None
    # Of the field that changed.
    old_value: str | None
    new_value: str | None
    # When the memory was made, by the clock of the bus (ADD), or when what changed it was said or done.
    created_at: str | None
    reason: str | None
    cause: str | None


class Changed(TypedDict):
    """The outcome of an update or a delete."""

    message: str
    id: str
    memory: Memory | None


class SkillChoice(TypedDict):
    """How to answer, and why: `shares` are those of trigger, posterior and alignment in the score."""

    request_id: str
    skill_id: str
    skill_name: str
    template: str
    confidence: float
    alignment: float
    shares: dict[str, float]
    bucket: int
    is_exploration: bool
    # What to ask the person beside the answer, where something is tried out; else empty.
    question: str
    # Why, in one sentence.
    explanation: str
    # What of the situation was worked out by what: intent=caller, sentiment=lexicon, …
    answered_by: str
    # applied | no_consent: the fixed choice for someone of whom nothing is learned
    outcome: str
    policy: str


class AppliedSkill(TypedDict):
    """A system prompt with the chosen skill's words behind it; the prompt alone where none applies."""

    prompt: str
    skill: SkillChoice | None
    # What to ask the person beside the answer, where something is tried out; else empty.
    question: str
    # Why, in one sentence.
    explanation: str
    # applied | no_applicable_skill | no_consent: the fixed choice for someone of whom nothing is learned
    outcome: str


class FeedbackOutcome(TypedDict):
    """What a feedback changed."""

    # success | unchanged (a reward of 0) | no_consent; the same event id again gets the same answer
    status: str
    skill_updated: bool
    new_confidence: float


class Skill(TypedDict):
    """A skill as this user has taught it."""

    skill_id: str
    name: str
    type: str
    template: str
    intents: list[str]
    times_of_day: list[str]
    sentiments: list[str]
    topics: list[str]
    dimensions: dict[str, float]
    confidence: float
    uses: int
    positive: int
    negative: int
    # Of own skills: proposed | accepted | archived | deleted; base skills: "" or archived.
    status: str
    version: int
    # Of a proposed skill: what speaks for it.
    evidence: str
    # Of own skills: when there was one first, and when its words, its conditions or how it stands changed last.
    created_at: str | None
    updated_at: str | None


class Preference(TypedDict):
    """The 16 style dimensions of one context bucket."""

    bucket: int
    dimensions: dict[str, float]
    updates: int


class Delivered(TypedDict):
    """A record of a topic that was subscribed to; `fields` as protobuf's JSON mapping gives them."""

    event_id: str
    topic: str
    user_id: str | None
    sender: str
    # 0 where the topic is ephemeral.
    sequence: int
    received_at: str | None
    occurred_at: str | None
    fields: dict[str, Any]

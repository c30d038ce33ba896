"""What the verbs on outcomes, profiles and suggestions return."""

from __future__ import annotations

from typing import Any, TypedDict


class Acceptance(TypedDict):
    """What became of the suggestions of one type (or value)."""

    type: str
    accepted: int
    rejected: int
    expired: int
    superseded: int
    # accepted / (accepted + rejected); 0.0 where nothing was decided
    rate: float
    # low | medium | high, by the number decided
    confidence: str


class RecordedOutcome(TypedDict):
    """What recording an outcome came to."""

    # recorded | revised | unchanged | no_consent
    status: str
    # As `o17`; None where nothing was recorded.
    outcome_id: str | None
    suggestion_id: str
    # Of this type, as the profile has them now; None where nothing was recorded.
    acceptance: Acceptance | None


class OpenSuggestion(TypedDict):
    """A suggestion and how it stands."""

    # open | accepted | rejected | expired | superseded | no_consent
    status: str
    suggestion_id: str
    type: str
    value: str
    reason: str
    created_at: str | None
    expires_at: str | None


class ProfilePattern(TypedDict):
    """A named rule that holds for this user, with the counts behind it."""

    name: str
    # The type it is about; "": several.
    type: str
    # What it says of a next suggestion: yes | caution | no
    advice: str
    description: str
    accepted: int
    decided: int


class ProfileTrends(TypedDict):
    """How answers go of late."""

    engagement: float
    engagement_trend: str
    stability: float
    acceptance: float
    acceptance_trend: str
    suggestions_per_week: float


class Profile(TypedDict):
    """What is known of a user's answers to suggestions."""

    user_id: str
    # Whether the user has allowed learning; without, the profile stands as it was.
    learning: bool
    acceptance: list[Acceptance]
    patterns: list[ProfilePattern]
    trends: ProfileTrends
    # outcomes, accepted, rejected, expired, superseded
    totals: dict[str, int]
    last_outcome: str | None
    last_decided_at: str | None
    compacted_through: str | None


class OutcomeEntry(TypedDict, total=False):
    """One outcome; what a layer does not tell is left out."""

    outcome_id: str
    suggestion_id: str
    type: str
    value: str
    outcome: str
    decided_at: str | None
    score: float
    # As a reader gets it at this layer, and what reading it costs.
    text: str
    tokens: int
    compacted: bool
    # The outcome that stands in its place, where the same suggestion was answered anew; None: this one stands.
    replaced_by: str | None
    # From layer 2 on.
    reason: str
    state_before: Any
    state_after: Any
    # Neighbours in time, a line each.
    before: list[str]
    after: list[str]
    # Layer 3.
    evidence: list[str]
    tags: list[str]
    created_at: str | None


class OutcomesFound(TypedDict):
    """Outcomes at one depth, with what reading them costs."""

    results: list[OutcomeEntry]
    layer: int
    tokens: int
    # The same outcomes at layer 3.
    tokens_in_full: int
    tokenizer: str
    # Outcomes that the filters let through.
    matching: int
    # hybrid | words | newest | ids
    answered_by: str
    degraded: list[str]


class AdviceReason(TypedDict):
    """One rule's word about a suggestion."""

    rule: str
    advice: str
    text: str


class SuggestionAdvice(TypedDict):
    """The check before a suggestion."""

    # yes | caution | no
    verdict: str
    reasons: list[AdviceReason]
    # Of the type, and of this value alone, whose name then stands under `type` (None where none was named).
    acceptance: Acceptance | None
    value_acceptance: Acceptance | None
    similar: list[OutcomeEntry]
    # False: the user has not allowed learning, and nothing of the past was looked at.
    learning: bool
    degraded: list[str]


class CompactionReport(TypedDict):
    """What compaction saved, in tokens of all outcomes in full."""

    users: int
    compacted: int
    kept_whole: int
    tokens_before: int
    tokens_after: int
    saved: float
    patterns_unchanged: bool
    expired: int
    tokenizer: str


class Insight(TypedDict):
    """A generalisation over at least k people."""

    insight_id: str
    statement: str
    type: str
    people: int
    rate: float
    # candidate | promoted | rejected
    status: str
    at: str | None


class Insights(TypedDict):
    """Insights, and the Markdown file that shows them."""

    insights: list[Insight]
    file: str
    k: int

"""A user's profile of suggestions, brought up to date by one outcome at a time.

Everything here follows from type, outcome and times alone, so a profile folded anew from compacted outcomes is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from aico_memory.domain.advisor.outcome import ACCEPTED, DECIDED, EXPIRED, REJECTED, SUPERSEDED, Outcome, line
from aico_memory.settings.outcomes import ProfileSettings

WEEK_US = 7 * 86_400_000_000
LOW, MEDIUM, HIGH = "low", "medium", "high"
RISING, STEADY, FALLING, UNKNOWN = "rising", "steady", "falling", "unknown"


@dataclass(frozen=True, slots=True)
class TypeCount:
    """What became of the suggestions of one type (or of several, or of one value)."""

    accepted: int = 0
    rejected: int = 0
    expired: int = 0
    superseded: int = 0
    # The latest answer that was one: accepted | rejected | ""
    last: str = ""

    @property
    def decided(self) -> int:
        return self.accepted + self.rejected

    @property
    def rate(self) -> float:
        """Accepted of decided, 0..1; 0 where nothing was decided."""
        return self.accepted / self.decided if self.decided else 0.0

    @property
    def answered(self) -> float:
        """Decided of those that were decided or expired, 0..1."""
        return self.decided / (self.decided + self.expired) if self.decided + self.expired else 0.0

    def confidence(self, figures: ProfileSettings) -> str:
        """low | medium | high, by how many were decided."""
        if self.decided >= figures.high:
            return HIGH
        return MEDIUM if self.decided >= figures.medium else LOW

    def plus(self, outcome: str) -> TypeCount:
        """With one more."""
        return TypeCount(
            self.accepted + (outcome == ACCEPTED),
            self.rejected + (outcome == REJECTED),
            self.expired + (outcome == EXPIRED),
            self.superseded + (outcome == SUPERSEDED),
            outcome if outcome in DECIDED else self.last,
        )

    def and_also(self, other: TypeCount) -> TypeCount:
        """Both together."""
        return TypeCount(
            self.accepted + other.accepted, self.rejected + other.rejected, self.expired + other.expired,
            self.superseded + other.superseded,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mean:
    """An exponentially weighted mean with its bias taken out: total / weight. Weight 0: nothing was seen."""

    total: float = 0.0
    weight: float = 0.0

    @property
    def value(self) -> float:
        return self.total / self.weight if self.weight else 0.0

    def plus(self, value: float, rate: float) -> Mean:
        return Mean(self.total * (1 - rate) + value * rate, self.weight * (1 - rate) + rate)


@dataclass(frozen=True, slots=True)
class Course:
    """A share over time: how often something was seen, its recent and its long mean."""

    seen: int = 0
    recent: Mean = Mean()
    long: Mean = Mean()

    def plus(self, value: float, figures: ProfileSettings) -> Course:
        return Course(
            self.seen + 1, self.recent.plus(value, figures.fast_rate), self.long.plus(value, figures.slow_rate)
        )  # fmt: skip

    def direction(self, figures: ProfileSettings) -> str:
        """rising | steady | falling, unknown where too few were seen: recent against long mean."""
        if self.seen < figures.least:
            return UNKNOWN
        apart = self.recent.value - self.long.value
        if abs(apart) <= figures.margin:
            return STEADY
        return RISING if apart > 0 else FALLING


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of one user's answers to suggestions."""

    types: Mapping[str, TypeCount] = field(default_factory=dict)
    # Whether suggestions are answered at all, whether answers are yes, whether they are as the last of their type.
    engagement: Course = Course()
    acceptance: Course = Course()
    stability: Course = Course()
    outcomes: int = 0
    first_us: int = 0
    last_us: int = 0
    last_outcome: str = ""
    # Numbers are never given twice, also where outcomes were deleted.
    last_number: int = 0
    compacted_through_us: int = 0

    @property
    def total(self) -> TypeCount:
        """Over all types."""
        found = TypeCount()
        for one in self.types.values():
            found = found.and_also(one)
        return found

    @property
    def per_week(self) -> float:
        """Suggestions a week between the first and the last; a shorter time counts as a week."""
        return self.outcomes / max((self.last_us - self.first_us) / WEEK_US, 1.0)


def updated(profile: Profile, outcome: Outcome, figures: ProfileSettings) -> Profile:
    """The profile with one more outcome of another suggestion, decided no earlier than the others."""
    before = profile.types.get(outcome.type, TypeCount())
    after = before.plus(outcome.outcome)
    engagement, acceptance, stability = profile.engagement, profile.acceptance, profile.stability
    if outcome.outcome != SUPERSEDED:
        engagement = engagement.plus(float(outcome.outcome in DECIDED), figures)
    if outcome.outcome in DECIDED:
        acceptance = acceptance.plus(float(outcome.outcome == ACCEPTED), figures)
        if before.last:
            stability = stability.plus(float(outcome.outcome == before.last), figures)
    return replace(
        profile,
        types={**profile.types, outcome.type: after},
        engagement=engagement,
        acceptance=acceptance,
        stability=stability,
        outcomes=profile.outcomes + 1,
        first_us=min(profile.first_us or outcome.decided_us, outcome.decided_us),
        last_us=max(profile.last_us, outcome.decided_us),
        last_outcome=line(outcome),
        last_number=max(profile.last_number, outcome.number),
    )


def folded(outcomes: Iterable[Outcome], figures: ProfileSettings, before: Profile | None = None) -> Profile:
    """The profile of these outcomes in the order they were decided; of a suggestion that was decided twice what was recorded
    last counts.

    From `before` only what no outcome tells is taken over: the last number and how far outcomes are compacted.
    """
    ordered = sorted(outcomes, key=lambda one: one.number)
    latest = {one.suggestion_id: one for one in ordered}
    known = before or Profile()
    profile = Profile(last_number=known.last_number, compacted_through_us=known.compacted_through_us)
    for one in sorted(latest.values(), key=lambda found: (found.decided_us, found.number)):
        profile = updated(profile, one, figures)
    return profile


def as_data(profile: Profile) -> dict[str, Any]:
    """As plain JSON values; numbers come back exactly."""
    return asdict(profile)


def from_data(data: Mapping[str, Any]) -> Profile:
    """What `as_data` gave."""
    fields = dict(data)
    fields["types"] = {name: TypeCount(**count) for name, count in data["types"].items()}
    for name in ("engagement", "acceptance", "stability"):
        course = data[name]
        fields[name] = Course(course["seen"], Mean(**course["recent"]), Mean(**course["long"]))
    return Profile(**fields)

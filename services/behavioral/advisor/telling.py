"""Profiles, advice and outcomes as messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from aico_memory.contracts.v1 import outcomes_pb2
from aico_memory.domain.advisor.outcome import Outcome, cut, detail, line, timeline
from aico_memory.domain.advisor.patterns import Pattern
from aico_memory.domain.advisor.profile import Course, Profile, TypeCount
from aico_memory.settings.outcomes import OutcomeSettings, ProfileSettings

LINES, TIMELINE, DETAIL = 1, 2, 3


def acceptance_of(name: str, count: TypeCount, figures: ProfileSettings) -> outcomes_pb2.TypeAcceptance:
    """The counts of one type or value."""
    return outcomes_pb2.TypeAcceptance(
        type=name, accepted=count.accepted, rejected=count.rejected, expired=count.expired, superseded=count.superseded,
        rate=count.rate, confidence=count.confidence(figures),
    )  # fmt: skip


def profile_message(
    user: str, profile: Profile, patterns: Iterable[Pattern], learning: bool, figures: ProfileSettings
) -> outcomes_pb2.OutcomeProfile:
    """A profile as its user sees it."""
    total = profile.total
    answer = outcomes_pb2.OutcomeProfile(
        user_id=user, learning=learning, outcomes=profile.outcomes, accepted=total.accepted, rejected=total.rejected,
        expired=total.expired, superseded=total.superseded, last_outcome=profile.last_outcome,
        last_decided_us=profile.last_us, compacted_through_us=profile.compacted_through_us,
    )  # fmt: skip
    answer.acceptance.extend(acceptance_of(name, profile.types[name], figures) for name in sorted(profile.types))
    for one in patterns:
        answer.patterns.add(
            name=one.name, type=one.type, advice=one.advice, description=one.description, accepted=one.count.accepted,
            decided=one.count.decided,
        )  # fmt: skip
    answer.trends.CopyFrom(
        outcomes_pb2.ProfileTrends(
            engagement=profile.engagement.recent.value, engagement_trend=profile.engagement.direction(figures),
            stability=_stability(profile.stability), acceptance=profile.acceptance.recent.value,
            acceptance_trend=profile.acceptance.direction(figures),
            suggestions_per_week=profile.per_week if profile.outcomes else 0.0,
        )
    )  # fmt: skip
    return answer


def item(
    outcome: Outcome, layer: int, score: float, ordered: Sequence[Outcome], replaced: Mapping[int, str],
    settings: OutcomeSettings, count: Callable[[str], int],
) -> outcomes_pb2.OutcomeItem:  # fmt: skip
    """An outcome at a layer; `ordered` are all of the user's by time, for its neighbours, `replaced` as in `Library`."""
    standing = replaced.get(outcome.number, "")
    answer = outcomes_pb2.OutcomeItem(
        outcome_id=outcome.outcome_id, suggestion_id=outcome.suggestion_id, type=outcome.type, value=outcome.value,
        outcome=outcome.outcome, decided_us=outcome.decided_us, score=score, compacted=outcome.compacted,
        replaced_by=standing,
    )  # fmt: skip
    if layer == LINES:
        answer.text = line(outcome, settings.snippet_characters, standing)
    elif layer == TIMELINE:
        before, after = _beside(outcome, ordered, replaced, settings.neighbours)
        answer.text = timeline(outcome, before, after, settings.timeline_characters, standing)
        longest = settings.timeline_characters
        answer.reason, answer.before[:], answer.after[:] = cut(outcome.reason, longest), before, after
        # Half a state is no JSON: a longer one stands in the text, cut, and whole in the detail.
        answer.state_before_json = outcome.state_before if len(outcome.state_before) <= longest else ""
        answer.state_after_json = outcome.state_after if len(outcome.state_after) <= longest else ""
    else:
        answer.text = detail(outcome, standing)
        answer.reason, answer.evidence[:], answer.tags[:] = outcome.reason, outcome.evidence, outcome.tags
        answer.state_before_json, answer.state_after_json = outcome.state_before, outcome.state_after
        answer.created_us = outcome.created_us
    answer.tokens = count(answer.text)
    return answer


def _beside(
    outcome: Outcome, ordered: Sequence[Outcome], replaced: Mapping[int, str], reach: int
) -> tuple[list[str], list[str]]:
    place = next((at for at, one in enumerate(ordered) if one.number == outcome.number), -1)
    if place < 0:
        return [], []
    before, after = ordered[max(0, place - reach) : place], ordered[place + 1 : place + 1 + reach]

    def told(beside: Sequence[Outcome]) -> list[str]:
        return [line(one, replaced_by=replaced.get(one.number, "")) for one in beside]

    return told(before), told(after)


def _stability(course: Course) -> float:
    # Nobody has changed their mind who was never asked twice.
    return course.long.value if course.seen else 1.0

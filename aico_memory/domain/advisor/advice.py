"""The check before a suggestion: yes, caution or no, with the named reasons and the counts behind them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aico_memory.domain.advisor.outcome import ACCEPTED, DECIDED, EXPIRED, REJECTED, Outcome
from aico_memory.domain.advisor.patterns import ADVICE, CAUTION, NO, YES, Pattern
from aico_memory.domain.advisor.profile import TypeCount
from aico_memory.settings.outcomes import AdviceSettings

DAY_US = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Reason:
    """One rule's word."""

    rule: str
    advice: str
    text: str


@dataclass(frozen=True, slots=True)
class Advice:
    """The gravest word of all reasons decides; without any it is yes."""

    reasons: tuple[Reason, ...]
    value_count: TypeCount

    @property
    def verdict(self) -> str:
        return max((reason.advice for reason in self.reasons), key=ADVICE.index, default=YES)


def advise(
    value: str, count: TypeCount, patterns: Sequence[Pattern], past: Sequence[Outcome],
    similar: Sequence[tuple[float, Outcome]], figures: AdviceSettings, now_us: int,
) -> Advice:  # fmt: skip
    """What speaks for and against suggesting `value` ("" for none).

    `count` and `past` (oldest first, the latest outcome of each suggestion) are of this type, `patterns` those that
    speak of it, `similar` other outcomes with their cosine, nearest first.
    """
    of_value = [one for one in past if value and one.value == value]
    value_count = TypeCount()
    for one in of_value:
        value_count = value_count.plus(one.outcome)
    reasons = (
        *_of_value(of_value, figures, now_us),
        *_of_type(count, past, figures),
        *(Reason(one.name, one.advice, one.description) for one in patterns),
        *_of_similar(similar, figures),
    )
    if not reasons and not count.decided:
        reasons = (Reason("no_history", YES, "nothing of this type was decided before"),)
    return Advice(tuple(sorted(reasons, key=lambda reason: -ADVICE.index(reason.advice))), value_count)


def _of_value(past: Sequence[Outcome], figures: AdviceSettings, now_us: int) -> Iterator[Reason]:
    decided = [one for one in past if one.outcome in DECIDED]
    if not decided:
        return
    last = max(decided, key=lambda one: (one.decided_us, one.number))
    days = max(now_us - last.decided_us, 0) // DAY_US
    if last.outcome == ACCEPTED:
        yield Reason("accepted_already", CAUTION, f"this was accepted {days} days ago ({last.outcome_id})")
    elif days < figures.cooldown_days:
        yield Reason("rejected_recently", NO, f"this was rejected {days} days ago ({last.outcome_id})")
    else:
        yield Reason("rejected_before", CAUTION, f"this was rejected {days} days ago ({last.outcome_id})")


def _of_type(count: TypeCount, past: Sequence[Outcome], figures: AdviceSettings) -> Iterator[Reason]:
    if count.decided >= figures.least and count.rate <= figures.reluctant_rate:
        told = f"{count.accepted} of {count.decided} of this type were accepted"
        yield Reason("low_acceptance", CAUTION, told)
    latest = past[-figures.ignored :]
    if len(latest) == figures.ignored and all(one.outcome == EXPIRED for one in latest):
        yield Reason("ignored", CAUTION, f"the last {figures.ignored} of this type stayed unanswered")


def _of_similar(similar: Sequence[tuple[float, Outcome]], figures: AdviceSettings) -> Iterator[Reason]:
    near = [one for nearness, one in similar if nearness >= figures.similarity and one.outcome in DECIDED]
    if len(near) < 2:
        return
    rejected = sum(one.outcome == REJECTED for one in near)
    if rejected / len(near) >= figures.similar_rejected:
        yield Reason("similar_rejected", CAUTION, f"{rejected} of {len(near)} similar suggestions were rejected")
    elif 1 - rejected / len(near) >= figures.similar_rejected:
        yield Reason("similar_accepted", YES, f"{len(near) - rejected} of {len(near)} similar suggestions were accepted")

"""Generalisations over many people. Each stands on at least k of them; none holds an id, a value or a text of theirs."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from aico_memory.domain.advisor.outcome import is_name
from aico_memory.domain.advisor.patterns import CAUTION, YES, Pattern, PatternRules
from aico_memory.domain.advisor.profile import Profile, TypeCount
from aico_memory.settings.outcomes import OutcomeSettings

CANDIDATE: Final = "candidate"
PROMOTED: Final = "promoted"
REJECTED: Final = "rejected"
STATES = (CANDIDATE, PROMOTED, REJECTED)
# What an insight's id is made of, before the type or the pattern's name.
_RATE, _PATTERN = "rate:", "pattern:"


@dataclass(frozen=True, slots=True)
class Insight:
    """One generalisation and what a reader decided about it."""

    insight_id: str
    statement: str
    # The type it speaks of, "" for all.
    type: str
    people: int
    # Mean acceptance over the people, each counting once; 0 where it speaks of something else.
    rate: float
    status: str
    at_us: int


def curate(people: Iterable[tuple[Profile, Sequence[Pattern]]], figures: OutcomeSettings, at_us: int) -> list[Insight]:
    """What can be said of at least k people, sorted by id. `people` are those who allow learning.

    Rates are rounded, so that one person more or less does not show what that person did.
    """
    rates: defaultdict[str, list[float]] = defaultdict(list)
    shown: Counter[tuple[str, str]] = Counter()
    for profile, patterns in people:
        for name, count in profile.types.items():
            if _counts(count, figures) and is_name(name):
                rates[name].append(count.rate)
        shown.update({(pattern.name, pattern.type) for pattern in patterns})
    found = [
        _insight(_RATE + name, _rate_told(name, values, figures), name, len(values), _rounded(values, figures), at_us)
        for name, values in rates.items()
        if len(values) >= figures.k
    ]
    found += [
        _insight(_PATTERN + name, f"At least {number} people show the pattern {name}.", type_name, number, 0.0, at_us)
        for (name, type_name), number in shown.items()
        if number >= figures.k
    ]
    return sorted(found, key=lambda insight: insight.insight_id)


def shown_by(profile: Profile, patterns: Sequence[Pattern], figures: OutcomeSettings) -> frozenset[str]:
    """The ids of the insights for which somebody with this profile counts, where they allow learning."""
    rates = {_id(_RATE + name) for name, count in profile.types.items() if _counts(count, figures) and is_name(name)}
    return frozenset(rates | {_id(_PATTERN + pattern.name) for pattern in patterns})


def moved(insight: Insight, people: int, k: int) -> Insight | None:
    """The insight with so many people more or fewer behind it; None below k. Its rate is that of the last curation."""
    left = insight.people + people
    if left < k:
        return None
    statement = insight.statement.replace(f" {insight.people} people", f" {left} people")
    return replace(insight, people=left, statement=statement)


def advice_of(insight: Insight, rules: PatternRules, reluctant_rate: float) -> str:
    """What a promoted insight says of the type it speaks of to somebody without a history: yes or caution, never no.

    A rate cautions at or below `reluctant_rate`, 0 included. A pattern says what its rule says; where there is no such
    rule any more, nothing tells that it is harmless.
    """
    if insight.insight_id == _id(_RATE + insight.type):
        return CAUTION if insight.rate <= reluctant_rate else YES
    named = {_id(_PATTERN + rule.named(insight.type)): rule.advice for rule in rules.rules}
    return YES if named.get(insight.insight_id) == YES else CAUTION


def as_markdown(insights: Sequence[Insight], k: int) -> str:
    """The file that people read: what was promoted, what waits for a decision, what was rejected."""
    lines = [
        "# Insights from suggestions",
        "",
        f"Generalisations over at least {k} people each, made by the advisor's memory. No person is named, none can be found.",
        "`aico-memory outcomes review ID promote` puts one to use, `… reject` puts it aside for good.",
    ]
    titles = ((PROMOTED, "In use"), (CANDIDATE, "To be reviewed"), (REJECTED, "Rejected"))
    for status, title in titles:
        lines += ["", f"## {title}", ""]
        told = [f"- [{'x' if status == PROMOTED else ' '}] `{one.insight_id}` {one.statement}" for one in insights
                if one.status == status]  # fmt: skip
        lines += told or ["(none)"]
    return "\n".join(lines) + "\n"


def _counts(count: TypeCount, figures: OutcomeSettings) -> bool:
    return count.decided >= figures.insight_least


def _rounded(values: Sequence[float], figures: OutcomeSettings) -> float:
    return round(round(sum(values) / len(values) / figures.insight_step) * figures.insight_step, 6)


def _rate_told(name: str, values: Sequence[float], figures: OutcomeSettings) -> str:
    rate = _rounded(values, figures)
    return f"Suggestions of type {name} are accepted about {rate:.0%} of the time, over {len(values)} people."


def _insight(key: str, statement: str, type_name: str, people: int, rate: float, at_us: int) -> Insight:
    return Insight(_id(key), statement, type_name, people, rate, CANDIDATE, at_us)


def _id(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:10]

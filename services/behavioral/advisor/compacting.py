"""Compacting a user's old outcomes, and what that saves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from aico_memory.domain.advisor.compaction import to_compact
from aico_memory.domain.advisor.outcome import Outcome, compacted, detail
from aico_memory.domain.advisor.patterns import PatternRules, patterns_of
from aico_memory.domain.advisor.profile import folded
from aico_memory.settings.outcomes import ProfileSettings
from aico_memory.stores.behavioral.port import BehavioralRows
from aico_memory.vault.sealer import Sealer
from services.behavioral.advisor.sealing import opened, profile_of, put_profile, sealed_body

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Compacted:
    """What became of one user's outcomes; tokens of all of them in full, before and after."""

    compacted: int = 0
    whole: int = 0
    tokens_before: int = 0
    tokens_after: int = 0


def compact_user(
    rows: BehavioralRows, user: str, sealer: Sealer, before_us: int, at_us: int, count: Count | None = None
) -> Compacted:
    """Compact what was decided before that time. The profile has counted it when it was recorded, and stays as it is.

    With `count` (tokens of a text) the saving is measured.
    """
    outcomes = [opened(one, sealer) for one in rows.outcomes(user)]
    old = to_compact(outcomes, before_us)
    for one in old:
        small = compacted(one)
        rows.compact_outcome(user, one.number, small.created_us, sealed_body(small, sealer))
    if old:
        profile = profile_of(rows, user, sealer)
        through = max(profile.compacted_through_us, *(one.decided_us for one in old))
        put_profile(rows, user, replace(profile, compacted_through_us=through), sealer, at_us)
    whole = sum(not one.compacted for one in outcomes) - len(old)
    if count is None:
        return Compacted(len(old), whole)
    gone = {one.number for one in old}
    after = [compacted(one) if one.number in gone else one for one in outcomes]
    return Compacted(len(old), whole, _tokens(outcomes, count), _tokens(after, count))


def patterns_stand(rows: BehavioralRows, user: str, sealer: Sealer, rules: PatternRules, figures: ProfileSettings) -> bool:
    """Whether what is stored now tells the same patterns as the profile that was brought up to date one by one."""
    profile = profile_of(rows, user, sealer)
    anew = folded([opened(one, sealer) for one in rows.outcomes(user)], figures, profile)
    return patterns_of(profile, rules) == patterns_of(anew, rules)


def _tokens(outcomes: Sequence[Outcome], count: Count) -> int:
    return sum(count(detail(one)) for one in outcomes)

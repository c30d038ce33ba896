"""Insights over people: curated from profiles, reviewed by a reader, shown in a Markdown file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from aico_memory.contracts.v1 import outcomes_pb2
from aico_memory.domain.advisor.insights import PROMOTED, REJECTED, Insight, as_markdown, curate, moved, shown_by
from aico_memory.domain.advisor.patterns import Pattern, PatternRules, patterns_of
from aico_memory.domain.advisor.profile import Profile
from aico_memory.errors import InvalidMessage, KeyDestroyed, NotFound
from aico_memory.settings.outcomes import OutcomeSettings
from aico_memory.stores.behavioral.port import BehavioralRows
from aico_memory.vault.permissions import make_private_folder, replace_private
from aico_memory.vault.sealer import Sealer
from services.behavioral.advisor.sealing import profile_of

ACTIONS = {"promote": PROMOTED, "reject": REJECTED}


def curate_all(
    rows: BehavioralRows, rules: PatternRules, settings: OutcomeSettings, sealer_of: Callable[[str], Sealer], at_us: int
) -> list[Insight]:
    """Make all insights anew: figures are brought up to date, decisions stay, what too few people show is gone."""
    before = {one.insight_id: one for one in rows.insights()}
    found = {one.insight_id: one for one in curate(_people(rows, rules, sealer_of), settings, at_us)}
    for insight_id in before.keys() - found.keys():
        rows.delete_insight(insight_id)
    for insight_id, insight in found.items():
        standing = before.get(insight_id)
        rows.put_insight(insight if standing is None else replace(insight, status=standing.status))
    return rows.insights()


def counted_in(
    rows: BehavioralRows, user: str, rules: PatternRules, settings: OutcomeSettings, sealer_of: Callable[[str], Sealer]
) -> frozenset[str]:
    """The ids of insights for which the user counts now; none where they allow no learning, or their key is gone."""
    found = _one(rows, user, rules, sealer_of)
    return frozenset() if found is None else shown_by(*found, settings)


def count_again(rows: BehavioralRows, before: frozenset[str], after: frozenset[str], k: int) -> bool:
    """Count somebody out of insights, or into them; what falls below k people is gone. Whether anything changed."""
    changed = before ^ after
    found = [one for one in rows.insights() if one.insight_id in changed]
    for one in found:
        left = moved(one, 1 if one.insight_id in after else -1, k)
        if left is None:
            rows.delete_insight(one.insight_id)
        else:
            rows.put_insight(left)
    return bool(found)


def review(rows: BehavioralRows, insight_id: str, action: str) -> Insight:
    """Promote or reject one. NotFound where there is none, InvalidMessage for another action."""
    if action not in ACTIONS:
        raise InvalidMessage(f"The action is {action!r}", f"Allowed are {', '.join(ACTIONS)}.")
    found = next((one for one in rows.insights() if one.insight_id == insight_id), None)
    if found is None:
        raise NotFound(f"There is no insight {insight_id!r}")
    reviewed = replace(found, status=ACTIONS[action])
    rows.put_insight(reviewed)
    return reviewed


def insight_message(insight: Insight) -> outcomes_pb2.Insight:
    """An insight as its reader sees it."""
    return outcomes_pb2.Insight(
        insight_id=insight.insight_id, statement=insight.statement, type=insight.type, people=insight.people,
        rate=insight.rate, status=insight.status, at_us=insight.at_us,
    )  # fmt: skip


def insights_page(insights: Sequence[Insight], file: str, k: int) -> outcomes_pb2.InsightsPage:
    """Some insights, where the file stands, and how many people are behind each at least."""
    return outcomes_pb2.InsightsPage(insights=map(insight_message, insights), file=file, k=k)


def write_file(path: Path, insights: Sequence[Insight], k: int) -> None:
    """Write the Markdown file that shows them, whole."""
    make_private_folder(path.parent)
    replace_private(path, as_markdown(insights, k).encode())


def _people(
    rows: BehavioralRows, rules: PatternRules, sealer_of: Callable[[str], Sealer]
) -> Iterator[tuple[Profile, Sequence[Pattern]]]:
    for user in rows.outcome_users():
        found = _one(rows, user, rules, sealer_of)
        if found is not None:
            yield found


def _one(
    rows: BehavioralRows, user: str, rules: PatternRules, sealer_of: Callable[[str], Sealer]
) -> tuple[Profile, Sequence[Pattern]] | None:
    if not rows.user(user).behavioral:
        return None
    try:
        profile = profile_of(rows, user, sealer_of(user))
    except KeyDestroyed:
        return None
    return profile, patterns_of(profile, rules)

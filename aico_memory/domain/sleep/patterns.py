"""Habits: what is spoken of again and again over days. Specification 5, phase 12, by rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from aico_memory.domain.sleep.clusters import Cluster
from aico_memory.domain.sleep.derived import PATTERN, Draft, entities_of, language_of
from aico_memory.domain.sleep.extracting import display_name
from aico_memory.settings.knowledge import KnowledgeSettings

HABIT: Final = "habit:"
_WEEK = 7


@dataclass(frozen=True, slots=True)
class HabitWording:
    """How a language tells a habit: `{names}` is what it is about, `{day}` a weekday; and the names of kinds in it."""

    often: str
    weekday: str
    # Monday first, in the form that `weekday` needs.
    days: tuple[str, ...]
    kinds: Mapping[str, str]


def habit_of(
    cluster: Cluster, said_on: Mapping[bytes, Sequence[date]], wordings: Mapping[str, HabitWording], default: str,
    figures: KnowledgeSettings,
) -> Draft | None:  # fmt: skip
    """The habit that a cluster shows; None where it was spoken of on too few days, or has no name.

    `said_on`: for each item the days, where they were said, of the messages that prove it.
    """
    days = {day for one in cluster.pieces for day in said_on.get(one.memory.memory_id, ())}
    names = _names(cluster)
    if len(days) < figures.pattern_days or not names:
        return None
    language = language_of([one.known for one in cluster.pieces])
    wording = wordings.get(language) or wordings[default]
    weekday = _weekday(days, figures)
    text = wording.often.format(names=names)
    if weekday is not None:
        text = wording.weekday.format(names=names, day=wording.days[weekday])
    told = sorted(cluster.pieces, key=lambda one: (-len(said_on.get(one.memory.memory_id, ())), *one.order))
    sources = sorted(told[: figures.pattern_sources], key=lambda one: one.order)
    known = [one.known for one in sources]
    return Draft(
        f"{HABIT}{cluster.name}", PATTERN, text, language if language in wordings else default, figures.pattern_importance,
        entities_of(known), tuple(one.memory.memory_id for one in sources), (), "weekday" if weekday is not None else "often",
        f"{len(days)} days, {len(cluster.pieces)} items",
    )  # fmt: skip


def _names(cluster: Cluster) -> str:
    """The entity; or else the value that most readings have, where two have it."""
    if cluster.entity:
        return display_name(cluster.entity, [one.memory.text for one in cluster.pieces])
    values = Counter(one.known.value for one in cluster.pieces if one.known.value)
    best = min(values, key=lambda value: (-values[value], value), default="")
    return best if values[best] > 1 else ""


def _weekday(days: set[date], figures: KnowledgeSettings) -> int | None:
    """The weekday on which it is told, Monday 0; None where it is any, or where one week alone tells it."""
    counted = Counter(day.weekday() for day in days)
    best = min(counted, key=lambda weekday: (-counted[weekday], weekday))
    weeks = {day - timedelta(days=day.weekday() % _WEEK) for day in days if day.weekday() == best}
    enough = len(weeks) >= figures.pattern_days and counted[best] >= figures.pattern_weekday * len(days)
    return best if enough else None

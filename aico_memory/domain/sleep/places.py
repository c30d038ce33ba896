"""Places in sleep: what the text of an item says of where it belongs, and which items are due for a move."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from aico_memory.domain.kinds import DAY_US
from aico_memory.domain.memory import Condition, Memory
from aico_memory.domain.sleep.upkeep import UNANCHORED, drifted_item, period_start_us, unused_since
from aico_memory.domain.strength.forgetting import due_for_demotion, last_use_us, promoted_place
from aico_memory.settings.memory_model import ForgettingSettings, MemoryModelSettings

# Writing without spaces between words.
_UNSPACED: Final = frozenset({"ja", "zh"})
_EPISODIC: Final = (Condition("tier", "in", ("episodic",)), *UNANCHORED)


@dataclass(frozen=True, slots=True)
class PlaceCues:
    """What marks a rule and what marks how something is done, in one language; patterns over casefolded text."""

    rule: re.Pattern[str]
    how_to: re.Pattern[str]


def pattern_of(cues: Iterable[str], language: str) -> re.Pattern[str]:
    """Any of these words or phrases; one that ends with * is a beginning. Raises ValueError where there are none."""
    parts = [_pattern(cue.casefold(), language) for cue in cues]
    if not parts:
        raise ValueError(f"{language} has no cues")
    return re.compile("|".join(parts))


def _pattern(cue: str, language: str) -> str:
    if language in _UNSPACED:
        return re.escape(cue)
    return rf"(?<!\w){re.escape(cue.rstrip('*'))}" + ("" if cue.endswith("*") else r"(?!\w)")


def place_of(memory: Memory, cues: PlaceCues | None) -> tuple[str, str]:
    """Tier and sub-tier of an item that is promoted; without cues of its language its kind decides."""
    text = memory.text.casefold()
    if cues is None:
        return promoted_place(memory.kind, False, False)
    return promoted_place(memory.kind, bool(cues.rule.search(text)), bool(cues.how_to.search(text)))


def often_accessed(figures: ForgettingSettings) -> tuple[Condition, ...]:
    """Episodic items that are promoted for their accesses."""
    return (*_EPISODIC, Condition("access_count", "ge", figures.promote_accesses))


def useful_for_long(at_us: int, figures: ForgettingSettings) -> tuple[Condition, ...]:
    """Episodic items that are promoted for their utility."""
    made_by = at_us - round(figures.promote_days * DAY_US)
    return (*_EPISODIC, Condition("utility", "ge", figures.promote_utility), Condition("created_at_us", "le", made_by))


def long_useless(at_us: int, figures: ForgettingSettings) -> tuple[Condition, ...]:
    """Semantic items that are demoted."""
    idle = unused_since(at_us - round(figures.demote_days * DAY_US))
    low = (Condition("tier", "in", ("semantic",)), Condition("utility", "lt", figures.demote_utility))
    return (*low, *UNANCHORED, Condition("flashbulb", "in", (0,)), *idle)


def would_go_down(memory: Memory, at_us: int, figures: ForgettingSettings) -> bool:
    """Whether an episodic item, once promoted, would be demoted at the next look."""
    return due_for_demotion(replace(memory, tier="semantic"), at_us, figures)


def stays_up(memory: Memory, drifted_at_us: int, at_us: int, figures: MemoryModelSettings) -> bool:
    """Whether it would still be up at the next look, when its utility has drifted; `drifted_at_us`: last time it did.

    Else it stays where it is, so that looking twice moves nothing twice.
    """
    due = max(drifted_at_us, last_use_us(memory)) <= period_start_us(at_us, figures)
    then = drifted_item(memory, drifted_at_us, at_us, figures) if due else memory
    return not would_go_down(then, at_us, figures.forgetting)

"""What time does to an item that is left alone, and what sleep does for it: decay, drift, strengthening, rehearsal.

Each is applied to the time since its last application, and at most once in a
period, so that whichever of a nightly phase and a weekly job comes second finds
nothing to do, and once over a time equals ten times over its tenths.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from aico_memory.domain.kinds import DAY_US, ITEM_KINDS, days_between
from aico_memory.domain.memory import Condition, Memory
from aico_memory.domain.strength.confidence import decay_rate, decayed_since
from aico_memory.domain.strength.forgetting import last_use_us
from aico_memory.domain.strength.retention import days_until, strengthened
from aico_memory.domain.strength.utility import drifted
from aico_memory.settings.memory_model import MemoryModelSettings, RetentionSettings

_HOUR_US: Final = 3_600_000_000
AWAKE: Final = ("episodic", "semantic")
UNANCHORED: Final = (Condition("pinned", "in", (0,)), Condition("immutable", "in", (0,)))


def period_start_us(at_us: int, figures: MemoryModelSettings) -> int:
    """What was applied after this moment is not applied again yet."""
    return at_us - round(figures.forgetting.upkeep_hours * _HOUR_US)


def unused_since(moment_us: int) -> tuple[Condition, ...]:
    """Made, retrieved and referred to before that, if ever."""
    return tuple(Condition(name, "le", moment_us) for name in ("created_at_us", "last_accessed_us", "last_referenced_us"))


def may_decay(at_us: int, figures: MemoryModelSettings) -> tuple[Condition, ...]:
    """Unanchored items of a kind and tier with a rate, unused for a period."""
    rate = {(kind, tier): decay_rate(kind, tier, figures) for kind in ITEM_KINDS for tier in AWAKE}
    kinds = tuple(sorted({kind for (kind, _), share in rate.items() if share > 0}))
    tiers = tuple(sorted({tier for (_, tier), share in rate.items() if share > 0}))
    wanted = (Condition("kind", "in", kinds), Condition("tier", "in", tiers))
    return (*wanted, *UNANCHORED, *unused_since(period_start_us(at_us, figures)))


def decayed_item(memory: Memory, applied_at_us: int, at_us: int, figures: MemoryModelSettings) -> Memory:
    """Phase 1, where decay was last applied at `applied_at_us` (0: never)."""
    return replace(memory, confidence=decayed_since(memory, applied_at_us, at_us, figures))


def may_drift(at_us: int, figures: MemoryModelSettings) -> tuple[Condition, ...]:
    """Awake, unanchored items off neutral, unused for a period."""
    off_neutral = (Condition("tier", "in", AWAKE), Condition("utility", "ne", figures.utility.neutral))
    return (*off_neutral, *UNANCHORED, *unused_since(period_start_us(at_us, figures)))


def drifted_item(memory: Memory, applied_at_us: int, at_us: int, figures: MemoryModelSettings) -> Memory:
    """Phase 5: utility on its way back to neutral since its last use or the last application."""
    days = days_between(max(applied_at_us, last_use_us(memory)), at_us)
    return replace(memory, utility=drifted(memory.utility, days, figures.utility))


# Awake or not: what moved somebody that much stays.
FLASHBULBS: Final = (Condition("flashbulb", "in", (1,)),)


def relived(memory: Memory, figures: RetentionSettings) -> Memory:
    """Phase 2: a flashbulb lasts longer with every emotional phase."""
    return strengthened(memory, figures.flashbulb_sleep_factor, figures)


def waning_us(figures: RetentionSettings) -> float:
    """Microseconds without access, a day of stability, after which retrievability is under the threshold."""
    return days_until(1.0, figures.endangered_below) * DAY_US


def rehearsal_room(rehearsed_in_period: int, limit: int, figures: RetentionSettings) -> int:
    """How many more may be rehearsed in this cycle, `limit` at most."""
    return max(0, min(limit, figures.rehearsals_per_cycle - rehearsed_in_period))


def greatest_change(pairs: Iterable[tuple[Memory, Memory]], field: str) -> list[tuple[Memory, Memory]]:
    """Before and after, those whose field changed most first; of equals, by id."""
    return sorted(pairs, key=lambda one: (-abs(getattr(one[0], field) - getattr(one[1], field)), one[0].memory_id))

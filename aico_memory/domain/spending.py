"""What may still be spent on a language model: calls and tokens in any hour and any day."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from aico_memory.settings.language_model import BudgetSettings

_HOUR_US: Final = 3_600_000_000
DAY_US: Final = 24 * _HOUR_US


class Spent(NamedTuple):
    """One call: when it was made, and its tokens, asked and answered."""

    at_us: int
    tokens: int


class Overspent(NamedTuple):
    """The limit that is reached, and the moment from which another call may be made."""

    limit: str
    until_us: int


def overspent(spent: Sequence[Spent], now_us: int, budget: BudgetSettings) -> Overspent | None:
    """The limit that forbids a call now, of several the one that holds longest; None where it may be made.

    A call is admitted while less than the limit was spent, so that the last one may pass it by its own tokens.
    """
    limits = (
        ("calls_per_hour", budget.calls_per_hour, _HOUR_US, False),
        ("calls_per_day", budget.calls_per_day, DAY_US, False),
        ("tokens_per_hour", budget.tokens_per_hour, _HOUR_US, True),
        ("tokens_per_day", budget.tokens_per_day, DAY_US, True),
    )
    reached = []
    for name, limit, window_us, in_tokens in limits:
        within = sorted(one for one in spent if one.at_us > now_us - window_us)
        total = sum(one.tokens if in_tokens else 1 for one in within)
        if not limit or total < limit:
            continue
        for one in within:
            total -= one.tokens if in_tokens else 1
            if total < limit:
                reached.append(Overspent(name, one.at_us + window_us))
                break
    return max(reached, key=lambda one: one.until_us, default=None)

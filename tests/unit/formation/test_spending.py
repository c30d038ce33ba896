"""What may be spent in any hour and any day."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.spending import Spent, overspent
from aico_memory.settings.language_model import BudgetSettings

HOUR = 3_600_000_000
_spent = st.lists(st.builds(Spent, st.integers(0, 48 * HOUR), st.integers(0, 500)), max_size=20)
_budgets = st.builds(
    BudgetSettings,
    calls_per_hour=st.integers(0, 5), calls_per_day=st.integers(0, 9), tokens_per_hour=st.integers(0, 900),
    tokens_per_day=st.integers(0, 2000),
)  # fmt: skip


@given(spent=_spent, budget=_budgets)
def test_a_limit_that_is_reached_frees_at_the_moment_that_it_names_and_not_before(
    spent: list[Spent], budget: BudgetSettings
) -> None:
    now = 48 * HOUR
    over = overspent(spent, now, budget)
    if over is not None:
        assert now < over.until_us
        assert overspent(spent, over.until_us - 1, budget) is not None
        assert overspent(spent, over.until_us, budget) is None


def test_no_limit_is_no_limit() -> None:
    every = [Spent(1, 10**6)] * 100
    free = BudgetSettings(calls_per_hour=0, calls_per_day=0, tokens_per_hour=0, tokens_per_day=0)
    assert overspent(every, 2, free) is None
    assert overspent(every, 2, BudgetSettings()) is not None

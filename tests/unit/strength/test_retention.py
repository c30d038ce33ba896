"""FSRS-6 against the library, storage strength, rehearsal."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import fsrs.card
import pytest
from fsrs import Card, Rating, Scheduler, State
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.strength.retention import (
    days_until,
    encoded,
    endangered,
    rehearsed,
    retrievability,
    retrieval_strength,
    stored,
    strengthened,
    used,
)
from aico_memory.settings.memory_model import RetentionSettings
from tests.support.memory_items import DAY, START, item

FIGURES = RetentionSettings()
RATINGS = st.sampled_from(list(Rating))


def test_nine_in_ten_are_recalled_after_as_many_days_as_the_stability() -> None:
    for stability in (0.5, 2.3065, 30.0, 4000.0):
        assert retrievability(stability, stability) == pytest.approx(0.9)
        assert retrievability(stability, 0) == 1.0


@pytest.mark.parametrize(("days", "expected"), [
    (1, 0.94685), (3, 0.88095), (7, 0.80831), (30, 0.66753), (365, 0.45895),
])  # fmt: skip
def test_the_curve_of_a_new_memory(days: int, expected: float) -> None:
    assert retrievability(2.3065, days) == pytest.approx(expected, abs=1e-5)


@given(st.floats(0.001, 36_500), st.integers(0, 20_000))
def test_on_whole_days_the_curve_is_that_of_the_library(stability: float, days: int) -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    card = Card(card_id=1, state=State.Review, stability=stability, difficulty=5.0, due=at, last_review=at)
    expected = Scheduler().get_card_retrievability(card, at + timedelta(days=days))
    assert retrievability(stability, days) == pytest.approx(expected, rel=1e-12)


@given(st.floats(0.01, 10_000), st.floats(0.2, 0.999))
def test_the_curve_is_solved_for_the_time(stability: float, retrieved: float) -> None:
    assert retrievability(stability, days_until(stability, retrieved)) == pytest.approx(retrieved, rel=1e-9)


@given(st.floats(0.01, 10_000), st.floats(0, 10_000), st.floats(0, 10_000))
def test_what_is_longer_ago_is_recalled_less(stability: float, one: float, other: float) -> None:
    sooner, later = sorted((one, other))
    assert 1 >= retrievability(stability, sooner) >= retrievability(stability, later) > 0


# Day, rating, stability and difficulty after it, figured with fsrs 6.3.2 for one card without learning steps.
GOLDEN = [
    (0, Rating.Good, 2.3065, 2.118104),
    (1, Rating.Good, 7.315301, 2.111214),
    (3, Rating.Good, 16.127272, 2.104331),
    (10, Rating.Good, 41.520212, 2.097455),
    (30, Rating.Hard, 78.16711, 4.739151),
    (45, Rating.Again, 3.035367, 8.256023),
    (46, Rating.Easy, 5.918158, 7.658496),
]


def test_uses_follow_the_golden_sequence() -> None:
    memory = encoded(item(), FIGURES)
    found = [(memory.stability, memory.difficulty)]
    for day, rating, _, _ in GOLDEN[1:]:
        memory = used(memory, START + day * DAY, FIGURES, rating)
        found.append((memory.stability, memory.difficulty))
    assert found == [pytest.approx((stability, difficulty), abs=1e-5) for _, _, stability, difficulty in GOLDEN]
    assert memory.access_count == len(GOLDEN) - 1
    assert memory.last_accessed_us == START + 46 * DAY


@given(st.lists(st.tuples(st.integers(0, 400), RATINGS), min_size=1, max_size=8))
def test_any_sequence_of_uses_is_that_of_the_library(uses: list[tuple[int, Rating]]) -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    memory, scheduler = encoded(item(), FIGURES), Scheduler(enable_fuzzing=False, relearning_steps=())
    card = Card(card_id=1, state=State.Review, stability=memory.stability, difficulty=memory.difficulty, due=at, last_review=at)
    day = 0
    for gap, rating in uses:
        day += gap
        memory = used(memory, START + day * DAY, FIGURES, rating)
        card, _ = scheduler.review_card(card, rating, at + timedelta(days=day))
        assert (memory.stability, memory.difficulty) == pytest.approx((card.stability, card.difficulty))


def test_neither_clock_nor_sleep_of_the_library_is_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: float) -> None:
        raise AssertionError("the library made an id of the clock")

    monkeypatch.setattr(fsrs.card.time, "sleep", refuse)
    assert used(encoded(item(), FIGURES), START + DAY, FIGURES) == used(encoded(item(), FIGURES), START + DAY, FIGURES)


def test_a_use_that_arrives_late_does_not_turn_time_back() -> None:
    memory = used(encoded(item(), FIGURES), START + 9 * DAY, FIGURES)
    late = used(memory, START + 2 * DAY, FIGURES)
    assert late.last_accessed_us == START + 9 * DAY
    assert late.access_count == 2


def test_the_first_use_of_what_was_never_encoded_encodes_it() -> None:
    assert item().stability == 0
    assert retrieval_strength(item(), START) == 0
    assert used(item(), START, FIGURES).stability > 2


def test_a_flashbulb_lasts_longer_from_the_start() -> None:
    assert encoded(item(flashbulb=True), FIGURES).stability == pytest.approx(1.5 * 2.3065)


@given(st.lists(st.tuples(st.floats(0, 100), RATINGS), max_size=20))
def test_storage_strength_never_falls_and_never_passes_its_bound(uses: list[tuple[float, Rating]]) -> None:
    memory, at_us = encoded(item(), FIGURES), START
    for gap, rating in uses:
        at_us += round(gap * DAY)
        after = used(memory, at_us, FIGURES, rating)
        if rating == Rating.Again:
            assert after.storage_strength == memory.storage_strength
        else:
            assert memory.storage_strength < after.storage_strength <= FIGURES.storage_highest
        memory = after


def test_a_retrieval_at_the_brink_of_forgetting_stores_more() -> None:
    assert stored(3, 0.2, FIGURES) > stored(3, 0.9, FIGURES) > 3
    assert stored(10, 0.2, FIGURES) == 10


@given(st.floats(0, 1e300), st.floats(0, 1e300))
def test_no_factor_lifts_stability_over_its_limit(stability: float, factor: float) -> None:
    assert 0 <= strengthened(item(stability=stability), factor, FIGURES).stability <= FIGURES.stability_limit_days


def test_the_weakest_are_rehearsed_first_and_once_a_period() -> None:
    figures = RetentionSettings(rehearsals_per_cycle=2)
    memories = [item(number, stability=stability) for number, stability in enumerate((1.0, 3.0, 2.0, 5000.0), start=1)]
    now_us = START + 60 * DAY
    chosen = endangered([(memory, 0) for memory in memories], now_us, figures)
    assert [one.memory.stability for one in chosen] == [1.0, 2.0]
    assert all(one.retrievability < 0.7 for one in chosen)
    assert rehearsed(chosen[0].memory, figures).stability == 1.5
    assert endangered([(memory, now_us) for memory in memories], now_us + 60_000_000, figures) == ()
    assert len(endangered([(memory, now_us) for memory in memories], now_us + DAY, figures)) == 2


def test_what_is_not_active_is_not_rehearsed() -> None:
    memory = item(stability=1.0, status="superseded")
    assert endangered([(memory, 0)], START + 600 * DAY, FIGURES) == ()

"""The order of replay."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.consolidation.replay import Experience, batches, priority, replay_order

DAY = 86_400_000_000
NOW = 1_790_000_000_000_000

EXPERIENCES = st.lists(
    st.builds(
        Experience,
        st.binary(min_size=16, max_size=16),
        st.integers(NOW - 20 * DAY, NOW),
        st.floats(-1, 1),
        st.booleans(),
    ),
    max_size=80,
)


def ids(ordered: list[Experience]) -> list[bytes]:
    return [one.event_id for one in ordered]


def test_the_priority_is_importance_and_recency_and_feedback() -> None:
    fresh = Experience(b"", NOW)
    assert priority(fresh, NOW) == 1.0
    assert priority(replace(fresh, importance=-0.5), NOW) == 1.5
    assert priority(replace(fresh, has_feedback=True), NOW) == 2.0
    assert priority(replace(fresh, received_us=NOW - 4 * DAY), NOW) == pytest.approx(0.25)
    assert priority(replace(fresh, received_us=NOW + DAY), NOW) == 1.0


@given(EXPERIENCES, st.integers())
def test_every_experience_has_its_place_exactly_once(experiences: list[Experience], seed: int) -> None:
    ordered = replay_order(experiences, NOW, random.Random(seed).random)
    assert sorted(ids(ordered)) == sorted({one.event_id for one in experiences})


@given(EXPERIENCES, st.integers())
def test_the_order_depends_on_the_seed_and_not_on_how_they_came(experiences: list[Experience], seed: int) -> None:
    distinct = list({one.event_id: one for one in experiences}.values())
    shuffled = random.Random(seed + 1).sample(distinct, len(distinct))
    first = replay_order(distinct, NOW, random.Random(seed).random)
    assert first == replay_order(shuffled, NOW, random.Random(seed).random)


def first_share(alpha: float, draws: int = 4000) -> float:
    """How often the one with feedback (priority 2 against 1) goes first."""
    pair = [Experience(b"a" * 16, NOW, has_feedback=True), Experience(b"b" * 16, NOW)]
    rng = random.Random(11)
    return sum(replay_order(pair, NOW, rng.random, alpha)[0].has_feedback for _ in range(draws)) / draws


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_the_exponent_decides_how_much_priority_weighs(alpha: float) -> None:
    # 4,000 draws: three standard deviations are 0.024.
    assert first_share(alpha) == pytest.approx(2**alpha / (2**alpha + 1), abs=0.03)


@given(st.lists(st.binary(min_size=1, max_size=4), max_size=50), st.integers(1, 20))
def test_batches_hold_everything_in_order_and_none_is_too_large(event_ids: list[bytes], size: int) -> None:
    cut = batches(event_ids, size)
    assert [one for batch in cut for one in batch] == event_ids
    assert all(len(batch) == size for batch in cut[:-1])
    assert all(0 < len(batch) <= size for batch in cut)

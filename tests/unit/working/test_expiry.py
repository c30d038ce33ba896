"""When an experience may go."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.working.expiry import HOUR_US, Fate, Retention, fate, sweep_bounds

NOW = 1_000_000 * HOUR_US
times = st.integers(-(10**17), 10**17)
retentions = st.tuples(st.integers(0, 10**13), st.integers(0, 10**13)).map(lambda pair: Retention(min(pair), max(pair)))


@pytest.mark.parametrize(
    ("hours", "acknowledged", "expected"),
    [
        (0, True, Fate.STAYS),
        (23.999, True, Fate.STAYS),
        (24, True, Fate.EXPIRES),
        (24, False, Fate.STAYS),
        (7 * 24, False, Fate.STAYS),
        (14 * 24 - 0.001, False, Fate.STAYS),
        (14 * 24, False, Fate.EXPIRES_UNREPLAYED),
        (14 * 24, True, Fate.EXPIRES),
    ],
)
def test_a_day_after_receipt_what_is_acknowledged_goes_and_after_a_fortnight_everything(hours, acknowledged, expected):
    assert fate(NOW - int(hours * HOUR_US), acknowledged, NOW, Retention()) is expected


@given(received=times, now=times, retention=retentions, acknowledged=st.booleans())
def test_the_ranges_of_a_sweep_say_what_the_rule_says(received, now, retention, acknowledged):
    bounds = sweep_bounds(now, retention)
    limit = bounds.acknowledged_until_us if acknowledged else bounds.any_until_us
    assert (received <= limit) == (fate(received, acknowledged, now, retention) is not Fate.STAYS)


@given(received=times, now=times, later=st.integers(0, 10**15), retention=retentions, acknowledged=st.booleans())
def test_what_may_go_may_go_later_too(received, now, later, retention, acknowledged):
    if fate(received, acknowledged, now, retention) is not Fate.STAYS:
        assert fate(received, acknowledged, now + later, retention) is not Fate.STAYS


@given(received=times, now=times, retention=retentions)
def test_acknowledging_never_makes_an_experience_stay_longer(received, now, retention):
    if fate(received, False, now, retention) is not Fate.STAYS:
        assert fate(received, True, now, retention) is Fate.EXPIRES


@given(received=times, back=st.integers(0, 10**15), acknowledged=st.booleans())
def test_a_clock_that_goes_back_removes_nothing_that_is_young(received, back, acknowledged):
    assert fate(received, acknowledged, received - back, Retention()) is Fate.STAYS


def test_a_cap_before_the_time_to_live_is_refused():
    with pytest.raises(ValueError, match="cap"):
        Retention(2, 1)

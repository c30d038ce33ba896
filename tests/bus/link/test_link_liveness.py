"""Silence of the bus is told from this side's own absence."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aico_memory.bus.link_liveness import Liveness
from aico_memory.settings.link import LinkSettings

LOOK = 0.5
SETTINGS = LinkSettings(ping_seconds=1.0, liveness_seconds=5.0)


def standing(now: float = 100.0) -> Liveness:
    made = Liveness(SETTINGS, LOOK)
    made.looked(now)
    made.established(now)
    return made


def look_until(liveness: Liveness, start: float, end: float, step: float = 0.25) -> bool:
    """Look again and again; whether silence was told by then."""
    now = start
    while now < end:
        now = min(end, now + step)
        liveness.looked(now)
        if liveness.silent(now):
            return True
    return False


def test_a_bus_that_says_nothing_is_silent_after_its_time() -> None:
    assert not look_until(standing(), 100.0, 105.0)
    assert look_until(standing(), 100.0, 105.3)


def test_one_quiet_way_is_enough() -> None:
    liveness = standing()
    now = 100.0
    while not liveness.silent(now) and now < 120:
        now += 0.25
        liveness.looked(now)
        liveness.heard("dealer", now)
    assert 105.0 < now < 106.0


def test_who_was_away_waits_as_long_as_if_nothing_had_been() -> None:
    liveness = standing()
    assert not look_until(liveness, 100.0, 104.0)
    assert liveness.looked(3704.0) == 3600.0 - LOOK
    assert not liveness.silent(3704.0)
    assert liveness.ping_due(3704.0)
    assert not look_until(liveness, 3704.0, 3704.4)
    assert look_until(liveness, 3704.0, 3705.0)


def test_a_first_look_is_no_absence() -> None:
    assert Liveness(SETTINGS, LOOK).looked(5000.0) == 0.0


def test_pings_are_a_ping_time_apart() -> None:
    liveness = standing()
    said = [now for now in range(100, 105) if liveness.ping_due(now + 0.5)]
    assert said == [101, 103]


def test_the_delivery_is_tried_after_half_the_time() -> None:
    liveness = standing()
    assert not liveness.probe_due(102.5)
    assert liveness.probe_due(102.6)
    liveness.heard("delivery", 102.6)
    assert not liveness.probe_due(105.0)


@given(st.lists(st.floats(0.001, 100.0), max_size=50))
def test_what_was_heard_never_lies_in_the_future(gaps: list[float]) -> None:
    liveness = standing()
    now = 100.0
    for gap in gaps:
        now += gap
        away = liveness.looked(now)
        assert 0 <= away < gap
        assert liveness.probe_due(now + SETTINGS.liveness_seconds)

"""Cron on the wall clock of a zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.scheduling.cron import due, instant_of, latest_due, next_firing, parse_cron
from aico_memory.errors import InvalidMessage

BERLIN = ZoneInfo("Europe/Berlin")
UTC_ZONE = ZoneInfo("UTC")
# 2026: forward on 29 March at 02:00 (01:00 UTC), back on 25 October at 03:00 (01:00 UTC).
SPRING = datetime(2026, 3, 29, tzinfo=BERLIN).astimezone(UTC)
AUTUMN = datetime(2026, 10, 25, tzinfo=BERLIN).astimezone(UTC)
DAY = timedelta(hours=26)

EXPRESSIONS = st.sampled_from(
    ["0 2 * * *", "30 2 * * *", "0 3 * * 0", "*/10 * * * *", "0 * * * *", "15,45 1-3 * * *", "0 0 1 * *", "59 23 * * 1-5"]
)
ZONES = st.sampled_from([BERLIN, UTC_ZONE, ZoneInfo("America/New_York"), ZoneInfo("Australia/Lord_Howe")])
NIGHTS = st.sampled_from([SPRING, AUTUMN, datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 4, 4, 10, tzinfo=UTC)])


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc, arg-type]


def test_weekday_zero_is_sunday_and_so_is_seven() -> None:
    for expression in ("0 3 * * 0", "0 3 * * 7", "0 3 * * SUN"):
        firing = next_firing(parse_cron(expression, UTC_ZONE), utc(2026, 11, 21, 22))
        assert firing == utc(2026, 11, 22, 3)
        assert firing.strftime("%A") == "Sunday"


def test_a_skipped_hour_fires_once_right_after_it() -> None:
    fired = due(parse_cron("30 2 * * *", BERLIN), SPRING, SPRING + DAY)
    assert fired[0] == utc(2026, 3, 29, 1), "02:30 does not exist; 03:00 summer time is right after the gap"
    assert fired[1:] == [utc(2026, 3, 30, 0, 30)]


def test_all_firings_of_a_skipped_hour_fall_together_with_the_one_after_it() -> None:
    fired = due(parse_cron("*/10 * * * *", BERLIN), utc(2026, 3, 29, 0, 45), utc(2026, 3, 29, 1, 15))
    assert fired == [utc(2026, 3, 29, 0, 50), utc(2026, 3, 29, 1), utc(2026, 3, 29, 1, 10)]


def test_a_doubled_hour_fires_once() -> None:
    for minute in (0, 30):
        fired = due(parse_cron(f"{minute} 2 * * *", BERLIN), AUTUMN, AUTUMN + timedelta(hours=24))
        assert fired == [utc(2026, 10, 25, 0, minute)]


def test_the_second_pass_of_a_doubled_hour_is_not_the_next_firing() -> None:
    cron = parse_cron("30 2 * * *", BERLIN)
    between = utc(2026, 10, 25, 0, 45)
    assert next_firing(cron, between) == utc(2026, 10, 26, 1, 30)
    assert latest_due(cron, AUTUMN, utc(2026, 10, 25, 1, 15)) == utc(2026, 10, 25, 0, 30)


def test_a_wall_time_that_exists_keeps_its_instant() -> None:
    assert instant_of(datetime(2026, 7, 1, 12), BERLIN) == utc(2026, 7, 1, 10)


def test_a_zone_that_skips_a_whole_day_fires_once_after_it() -> None:
    apia = ZoneInfo("Pacific/Apia")
    fired = due(parse_cron("0 12 * * *", apia), utc(2011, 12, 29, 23), utc(2011, 12, 31, 3))
    assert [moment.astimezone(apia).day for moment in fired] == [31, 31]
    assert fired[0] == utc(2011, 12, 30, 10), "30 December does not exist in Samoa"


@pytest.mark.parametrize(
    "expression",
    ["", "* * * *", "* * * * * *", "61 * * * *", "0 0 30 2 *", "R * * * *", "H * * * *", "@daily", "0 0 L * *", "0 0 * * foo"],
)
def test_what_is_no_five_field_cron_is_refused(expression: str) -> None:
    with pytest.raises(InvalidMessage):
        parse_cron(expression, UTC_ZONE)


@given(EXPRESSIONS, ZONES, NIGHTS, st.lists(st.integers(0, 72 * 60), min_size=1, max_size=20))
def test_looking_at_any_moments_neither_repeats_nor_loses_a_firing(
    expression: str, zone: ZoneInfo, night: datetime, minutes: list[int]
) -> None:
    cron = parse_cron(expression, zone)
    start = night - timedelta(hours=24)
    looks = sorted({start + timedelta(minutes=minute, seconds=minute % 60) for minute in minutes} | {start})
    pieces = [moment for one, two in pairwise(looks) for moment in due(cron, one, two)]
    assert pieces == due(cron, looks[0], looks[-1])
    assert len(set(pieces)) == len(pieces)


@given(EXPRESSIONS, ZONES, NIGHTS, st.integers(0, 4000), st.integers(0, 4000))
def test_the_latest_due_is_the_last_of_all_due(expression: str, zone: ZoneInfo, night: datetime, back: int, forth: int) -> None:
    cron = parse_cron(expression, zone)
    after, until = night - timedelta(minutes=back), night + timedelta(minutes=forth)
    every = due(cron, after, until)
    assert latest_due(cron, after, until) == (every[-1] if every else None)


@given(ZONES, NIGHTS, st.integers(0, 23), st.integers(0, 59))
def test_a_daily_job_fires_once_on_every_local_day(zone: ZoneInfo, night: datetime, hour: int, minute: int) -> None:
    cron = parse_cron(f"{minute} {hour} * * *", zone)
    day = (night - timedelta(days=2)).astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    for ahead in range(4):
        start = (day + timedelta(days=ahead)).astimezone(UTC) - timedelta(microseconds=1)
        end = (day + timedelta(days=ahead + 1)).astimezone(UTC) - timedelta(microseconds=1)
        assert len(due(cron, start, end)) == 1

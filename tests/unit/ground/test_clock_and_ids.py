from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory import clock, ids
from aico_memory.errors import InvalidMessage, NaiveTime

MOMENT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@given(st.integers(min_value=-(10**15), max_value=10**17 // 2))
def test_microseconds_survive_the_way_to_a_datetime_and_back(microseconds: int) -> None:
    assert clock.to_us(clock.from_us(microseconds)) == microseconds


def test_a_time_without_zone_is_refused_with_a_mend() -> None:
    with pytest.raises(NaiveTime) as caught:
        clock.parse_time("2026-03-01T12:00:00")
    assert "zone" in caught.value.mend
    with pytest.raises(NaiveTime):
        clock.to_us(datetime(2026, 3, 1))


def test_a_time_in_another_zone_is_the_same_instant() -> None:
    assert clock.parse_time("2026-03-01T13:00:00+01:00") == MOMENT
    assert clock.require_zone(MOMENT.astimezone(timezone(timedelta(hours=5)))).utcoffset() == timedelta(0)


def test_text_that_is_no_time_is_an_invalid_message() -> None:
    with pytest.raises(InvalidMessage, match="soon"):
        clock.parse_time("soon")


def test_a_shared_clock_drives_every_holder_of_the_file(tmp_path: Path) -> None:
    first = clock.SharedManualClock(tmp_path / "clock", MOMENT)
    second = clock.SharedManualClock(tmp_path / "clock")
    first.advance(timedelta(days=2))
    assert second.now() == MOMENT + timedelta(days=2)
    second.set(MOMENT)
    assert first.now_us() == clock.to_us(MOMENT)
    first.close()
    second.close()


def test_new_ids_are_version_7_and_carry_the_time() -> None:
    made = ids.new_id(clock.to_us(MOMENT))
    assert made.version == 7
    assert made.variant == uuid.RFC_4122
    assert ids.uuid7_ms(made) == clock.to_us(MOMENT) // 1000


@given(st.uuids(), st.text(max_size=20), st.integers(min_value=0, max_value=2**40))
def test_derived_ids_depend_on_all_they_derive_from(cause: uuid.UUID, purpose: str, ordinal: int) -> None:
    derived = ids.derive_id(cause, purpose, ordinal)
    assert derived == ids.derive_id(cause, purpose, ordinal)
    assert derived.version == 7
    assert derived != ids.derive_id(cause, purpose, ordinal + 1)
    assert derived != ids.derive_id(cause, purpose + "x", ordinal)


def test_the_stable_hash_has_its_golden_value() -> None:
    assert ids.stable_hash64("question|neutral|morning") == int.from_bytes(
        __import__("hashlib").blake2b(b"question|neutral|morning", digest_size=8).digest(), "big"
    )
    assert ids.stable_hash64("") == 0xE4A6A0577479B2B4

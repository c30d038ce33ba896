"""Numbers in what was said, and the series that they make."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.memory import Evolution
from aico_memory.domain.temporal.series import field_series, number_of
from aico_memory.domain.temporal.trends import Point


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("82 kg", 82), ("82,5 kg", 82.5), ("82.5", 82.5), ("1.234,50 Euro", 1234.5), ("1,234.50", 1234.5), ("1 200", 1200),
        ("1.100 Euro", 1100), ("0.125", 0.125), ("-3 °C", -3), ("−3 °C", -3), ("12.345.678", 12345678), ("at 9", 9),
        ("kilo", None), ("", None),
    ],
)  # fmt: skip
def test_a_number_is_read_as_it_is_written(text: str, number: float | None) -> None:
    assert number_of(text) == number


@given(st.integers(-(10**9), 10**9))
def test_every_whole_number_reads_as_itself_plain_and_grouped(number: int) -> None:
    assert number_of(str(number)) == number
    assert number_of(f"{number:,}".replace(",", " ")) == number


@given(st.text(max_size=30))
def test_any_text_has_a_number_or_none(text: str) -> None:
    assert number_of(text) is None or isinstance(number_of(text), float)


def test_a_field_begins_with_what_it_was_before_its_first_change() -> None:
    changes = [Evolution(b"m", "confidence", "0.7", "0.8", 20, b""), Evolution(b"m", "tier", "episodic", "semantic", 10, b"")]
    assert field_series(changes, "confidence", 0.8, 5) == (Point(5, 0.7), Point(20, 0.8))
    assert field_series(changes, "utility", 0.5, 5) == (Point(5, 0.5),)

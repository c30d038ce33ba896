from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.formation.when import find_times, from_us, to_us
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.paths import find_home

BERLIN = "Europe/Berlin"
TABLES = load_formation_tables(find_home())


def at(year: int, month: int, day: int, hour: int = 0) -> int:
    return to_us(datetime(year, month, day, hour, tzinfo=ZoneInfo(BERLIN)))


# A Wednesday.
SAID = at(2026, 3, 4, 12)


def span(tables: FormationTables, language: str, text: str, past: bool, said: int = SAID) -> tuple[int, int]:
    (phrase,) = find_times(text, tables.grammars[language].calendar, language, said, BERLIN)
    return phrase.bounds(past)


@pytest.mark.parametrize(
    ("language", "text", "past", "start", "end"),
    [
        ("en", "yesterday", True, at(2026, 3, 3), at(2026, 3, 4)),
        ("en", "next friday", False, at(2026, 3, 6), at(2026, 3, 7)),
        ("en", "last week", True, at(2026, 2, 23), at(2026, 3, 2)),
        ("en", "on 3 may", False, at(2026, 5, 3), at(2026, 5, 4)),
        ("en", "in october", True, at(2025, 10, 1), at(2025, 11, 1)),
        ("de", "übermorgen", False, at(2026, 3, 6), at(2026, 3, 7)),
        ("de", "vor drei wochen", True, at(2026, 2, 11), at(2026, 2, 12)),
        ("de", "am 3. mai", False, at(2026, 5, 3), at(2026, 5, 4)),
        ("tr", "dün", True, at(2026, 3, 3), at(2026, 3, 4)),
        ("tr", "geçen ay", True, at(2026, 2, 1), at(2026, 3, 1)),
        ("tr", "önümüzdeki cuma", False, at(2026, 3, 6), at(2026, 3, 7)),
    ],
)
def test_a_phrase_names_an_interval(
    tables: FormationTables, language: str, text: str, past: bool, start: int, end: int
) -> None:
    assert span(tables, language, text, past) == (start, end)


@pytest.mark.parametrize(
    ("language", "text", "start"),
    [
        ("en", "since christmas", at(2025, 12, 25)), ("en", "since ash wednesday", at(2026, 2, 18)),
        ("de", "seit ostern", at(2025, 4, 20)), ("de", "seit neujahr", at(2026, 1, 1)),
        ("de", "seit aschermittwoch", at(2026, 2, 18)),
    ],
)  # fmt: skip
def test_since_a_holiday_is_since_the_newest_one(tables: FormationTables, language: str, text: str, start: int) -> None:
    assert span(tables, language, text, True)[0] == start


@pytest.mark.parametrize(
    ("language", "text"),
    [("en", "the photos from easter"), ("en", "christmas is my favourite"), ("de", "die fotos von ostern")],
)
def test_a_holiday_that_bounds_nothing_is_no_time(tables: FormationTables, language: str, text: str) -> None:
    assert find_times(text, tables.grammars[language].calendar, language, SAID, BERLIN) == []


@pytest.mark.parametrize(
    ("language", "text", "end"),
    [
        ("en", "until friday", at(2026, 3, 7)),
        ("de", "bis freitag", at(2026, 3, 7)),
        ("tr", "cumaya kadar", at(2026, 3, 7)),
        ("en", "until easter", at(2026, 4, 6)),
        ("en", "till boxing day", at(2026, 12, 27)),
        ("de", "bis pfingsten", at(2026, 5, 25)),
        ("de", "bis silvester", at(2027, 1, 1)),
        ("en", "until april", at(2026, 4, 1)),
        ("de", "bis ende april", at(2026, 5, 1)),
        ("tr", "nisan sonuna kadar", at(2026, 5, 1)),
    ],
)
def test_until_a_day_includes_it_and_until_a_month_does_not(
    tables: FormationTables, language: str, text: str, end: int
) -> None:
    assert span(tables, language, text, past=False)[1] == end


def test_a_day_on_which_the_clocks_change_has_its_own_length(tables: FormationTables) -> None:
    start, end = span(tables, "en", "today", past=False, said=at(2026, 3, 29, 12))
    assert (end - start) == 23 * 3_600_000_000


def test_a_text_without_a_word_of_time_has_no_phrase(tables: FormationTables) -> None:
    assert find_times("i like green tea", tables.grammars["en"].calendar, "en", SAID, BERLIN) == []


@given(
    st.integers(at(2020, 1, 1), at(2035, 1, 1)),
    st.sampled_from(["today", "next friday", "last month", "this week", "in march"]),
)
def test_every_interval_has_a_beginning_before_its_end_and_starts_at_midnight(said: int, text: str) -> None:
    for past in (True, False):
        start, end = span(TABLES, "en", text, past, said)
        assert start < end
        local = from_us(start, BERLIN)
        assert (local.hour, local.minute, local.second) == (0, 0, 0)

"""Hourly figures in the behavioral store: gathered under one name, and deleted with time."""

from aico_memory.domain.behavioral.records import HourFigure
from tests.stores.behavioral.rows import read, write

HOUR_US = 3_600_000_000


def count(store, *figures):
    write(store, lambda rows: [rows.count_hour(*figure) for figure in figures])


def hours(store):
    return read(store, lambda rows: list(rows.hours(0, 10 * HOUR_US)))


def test_figures_of_unknown_skills_are_added_up_under_one_name(store):
    count(store, (0, "base", "positive", 1.0), (0, "", "context_ms:3", 2.0), (0, "mine", "selection_ms", 5.0))
    count(store, (0, "yours", "selection_ms", 2.0), (0, "own", "selection_ms", 1.0), (HOUR_US, "mine", "positive", 1.0))
    assert write_and_count(store, lambda rows: rows.gather_hours({"", "base"}, "own")) == 3
    assert hours(store) == [
        HourFigure(0, "", "context_ms:3", 1, 2.0, 2.0),
        HourFigure(0, "base", "positive", 1, 1.0, 1.0),
        HourFigure(0, "own", "selection_ms", 3, 8.0, 5.0),
        HourFigure(HOUR_US, "own", "positive", 1, 1.0, 1.0),
    ]
    assert write_and_count(store, lambda rows: rows.gather_hours({"", "base"}, "own")) == 0


def test_figures_of_hours_before_a_time_are_deleted(store):
    count(store, *((hour * HOUR_US, "base", "positive", 1.0) for hour in range(4)))
    assert write_and_count(store, lambda rows: rows.forget_hours(2 * HOUR_US)) == 2
    assert [one.hour_us for one in hours(store)] == [2 * HOUR_US, 3 * HOUR_US]


def write_and_count(store, change):
    found = []
    write(store, lambda rows: found.append(change(rows)))
    return found[0]

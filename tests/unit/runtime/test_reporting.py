"""Reports that wait for one another."""

from __future__ import annotations

import threading

from aico_memory.errors import BusUnavailable
from aico_memory.runtime.reporting import Reports

PATIENCE = 60.0


def test_what_comes_while_a_report_lingers_is_told_with_it_and_in_order():
    told: list[int] = []
    reports: Reports[int] = Reports("test", 10, told.append, linger_seconds=60.0)
    for number in range(3):
        reports.put(number)
    assert told == []
    reports.close()
    assert (told, reports.told) == ([0, 1, 2], 3)


def test_without_lingering_a_report_is_told_at_once():
    done = threading.Event()
    reports: Reports[int] = Reports("test", 10, lambda _: done.set())
    reports.put(1)
    assert done.wait(PATIENCE)
    reports.close()


def test_what_nobody_takes_is_counted_and_does_not_keep_the_rest():
    told: list[int] = []

    def tell(number: int) -> None:
        if number == 1:
            raise BusUnavailable("away")
        told.append(number)

    reports: Reports[int] = Reports("test", 10, tell, linger_seconds=0.01)
    for number in (1, 2):
        reports.put(number)
    reports.close()
    assert (told, reports.told, reports.lost) == ([2], 1, 1)

"""Reports that wait for one another."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from aico_memory.errors import BusUnavailable
from aico_memory.runtime.reporting import TOGETHER, Reports

PATIENCE = 60.0


def test_what_comes_while_a_report_lingers_is_told_with_it_and_in_order():
    told: list[int] = []
    reports: Reports[int] = Reports("test", 10, told.extend, linger_seconds=60.0)
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

    def tell(numbers: Sequence[int]) -> None:
        if 0 in numbers:
            raise BusUnavailable("away")
        told.extend(numbers)

    # More than are told at once: the first telling fails, with all that it tells, and the second does not.
    reports: Reports[int] = Reports("test", 100, tell, linger_seconds=60.0)
    for number in range(TOGETHER + 2):
        reports.put(number)
    reports.close()
    assert (told, reports.told, reports.lost) == ([TOGETHER, TOGETHER + 1], 2, TOGETHER)


def test_whoever_asks_goes_before_each_telling():
    order: list[str] = []
    reports: Reports[int] = Reports(
        "test", 100, lambda numbers: order.append(f"{len(numbers)} told"), 60.0, lambda: order.append("way given")
    )
    for number in range(TOGETHER + 1):
        reports.put(number)
    reports.close()
    assert order == ["way given", f"{TOGETHER} told", "way given", "1 told"]

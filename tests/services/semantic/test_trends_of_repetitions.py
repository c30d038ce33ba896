"""Trends of numbers that are told again and again with the same value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from aico_memory.contracts.v1 import semantic_pb2, temporal_pb2
from aico_memory.domain.kinds import DAY_US
from tests.services.semantic.statements import items
from tests.services.semantic.worker import START, Worker

WEEK_US = 7 * DAY_US
BEGAN_US = START - 60 * WEEK_US
WEIGHT = temporal_pb2.FactsAbout(predicate="weight")


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    made = Worker(tmp_path / "home")
    yield made
    made.handlers.close()


def weigh(worker: Worker, kilos: Sequence[int]) -> None:
    for week, value in enumerate(kilos):
        worker.say(f"I weigh {value} kg.", said_at_us=BEGAN_US + week * WEEK_US)


def trend(worker: Worker, weeks: int) -> temporal_pb2.TrendAnswer:
    request = temporal_pb2.TrendRequest(user_id="ada", about=WEIGHT, predict_at_us=BEGAN_US + weeks * WEEK_US)
    answer: temporal_pb2.TrendAnswer = worker.ask(request)
    return answer


def test_each_report_of_one_number_is_a_point_and_a_jump_between_two_is_a_change_point(worker: Worker) -> None:
    weigh(worker, [70] * 8 + [80] * 8)
    found = trend(worker, 18)
    assert [point.value for point in found.points] == [70] * 8 + [80] * 8
    assert [point.at_us for point in found.points] == [BEGAN_US + week * WEEK_US for week in range(16)]
    (change,) = found.changes
    assert (change.at_us, change.before, change.after) == (BEGAN_US + 8 * WEEK_US, 70, 80)
    assert (found.prediction_unknown, found.predicted) == ("", 80)


def test_repetitions_of_a_number_that_was_edited_since_are_no_points(worker: Worker) -> None:
    weigh(worker, [70] * 4)
    weight = next(one for one in items(worker) if one.predicate == "weight")
    memory_id = weight.memory.memory_id.hex()
    worker.tell(semantic_pb2.UpdateMemory(user_id="ada", memory_id=memory_id, text="User weighs 72 kg"))
    assert {point.value for point in trend(worker, 6).points} == {72}


def test_repetitions_of_a_number_that_was_deleted_are_no_points(worker: Worker) -> None:
    weigh(worker, [70] * 4 + [80] * 4)
    first = next(one for one in items(worker) if one.value.startswith("70"))
    worker.answered(semantic_pb2.InvalidateMemory(user_id="ada", memory_id=first.memory.memory_id.hex()))
    assert [point.value for point in trend(worker, 9).points] == [80] * 4

"""A key about which more was stated than its history is told from: what holds is still one item, and can still change."""

from __future__ import annotations

import itertools
import random

import pytest

from aico_memory.bench.chatter import sentences
from aico_memory.contracts.v1 import context_pb2
from aico_memory.settings.write_path import WritePathSettings
from tests.services.semantic.statements import exported, message, values
from tests.services.semantic.worker import Worker

TOLD_FROM = 10


@pytest.fixture
def worker(tmp_path):
    made = Worker(tmp_path / "home")
    figures = WritePathSettings.model_validate({"work": {"embed_patience_seconds": 0.0, "statements": TOLD_FROM}})
    made.settings = made.settings.model_copy(update={"write_path": figures})
    made.restart()
    yield made
    made.handlers.close()


def failures(worker: Worker) -> list[str]:
    return [line for line in exported(worker) if "gate failed" in line]


def test_what_is_said_again_and_again_stays_one_item(worker):
    for _ in range(TOLD_FROM + 5):
        worker.tell(message("I live in Rome"))
    assert values(worker) == [("Rome", "active")]
    assert failures(worker) == []


def test_what_was_said_again_and_again_is_closed_by_what_takes_its_place(worker):
    for _ in range(TOLD_FROM + 5):
        worker.tell(message("I live in Rome"))
    worker.tell(message("I moved to Oslo"))
    recalled = worker.ask(context_pb2.RecallRequest(user_id="ada", question="Where do I live?"))
    assert [one.value for one in recalled.results] == ["Oslo"]
    assert failures(worker) == []


def test_what_founded_the_item_that_holds_is_told_of_however_long_ago_it_was_said(worker):
    """Otherwise it stayed open beside what takes its place, which the store refuses: the statement would be lost."""
    for text in itertools.islice(sentences(random.Random(2)), 250):
        worker.tell(message(text))
    assert failures(worker) == []


def test_many_changes_leave_one_value_open(worker):
    for turn in range(TOLD_FROM):
        worker.tell(message("I moved to Oslo" if turn % 2 else "I moved to Rome"))
        worker.tell(message("I live in Oslo" if turn % 2 else "I live in Rome"))
    assert failures(worker) == []
    assert len(values(worker)) == TOLD_FROM

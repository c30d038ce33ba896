"""Who asks what was known at an earlier moment is told nothing that was learned since."""

from __future__ import annotations

from typing import Any

import pytest

from aico_memory.contracts.v1 import context_pb2, semantic_pb2, temporal_pb2
from tests.services.semantic.statements import DAY
from tests.services.semantic.worker import START, Worker

ROME_US, OSLO_US, BERGEN_US = START - 60 * DAY, START - 50 * DAY, START - 40 * DAY
HOME = "Where do I live?"


@pytest.fixture
def moved(worker: Worker) -> Worker:
    worker.say("I live in Rome.", said_at_us=ROME_US)
    worker.say("I moved to Oslo.", said_at_us=OSLO_US)
    worker.say("I moved to Bergen.", said_at_us=BERGEN_US)
    worker.settle()
    return worker


def told(record: Any) -> tuple[str, str, int, int, bool]:
    return (
        record.text, record.status, record.valid_until_us, record.invalidated_at_us, bool(record.superseded_by)
    )  # fmt: skip


def item_of(records: Any, text: str) -> Any:
    return next(one for one in records if one.text == text)


def test_a_search_tells_an_item_as_it_was_known(moved: Worker) -> None:
    filters = semantic_pb2.SearchFilters(kinds=["profile"], statuses=["active", "superseded"])
    for known_us, end_us in ((OSLO_US - 1, 0), (OSLO_US, OSLO_US), (0, OSLO_US)):
        answer = moved.search(HOME, as_of_us=ROME_US, known_as_of_us=known_us, filters=filters)
        record = item_of(answer.records, "User lives in Rome")
        status = "superseded" if end_us else "active"
        assert told(record) == ("User lives in Rome", status, end_us, end_us, bool(end_us))


def test_a_context_is_told_an_item_as_it_was_known(moved: Worker) -> None:
    asked = context_pb2.CandidatesRequest(user_id="ada", questions=[HOME], limit=9, facts=True, known_as_of_us=OSLO_US - 1)
    record = item_of(moved.ask(asked).records, "User lives in Rome")
    assert (record.status, record.valid_until_us) == ("active", 0)


def test_what_is_around_an_item_is_what_was_known_around_it(moved: Worker) -> None:
    filters = semantic_pb2.SearchFilters(kinds=["profile"])
    found = moved.search(HOME, as_of_us=ROME_US, known_as_of_us=OSLO_US - 1, filters=filters).records
    rome = item_of(found, "User lives in Rome").memory_id

    def around(known_us: int) -> context_pb2.AroundOne:
        asked = context_pb2.AroundRequest(user_id="ada", memory_ids=[rome], neighbours=5, known_as_of_us=known_us)
        (one,) = moved.ask(asked).found
        return one

    then, later, now = around(OSLO_US - 1), around(OSLO_US), around(0)
    assert told(then.record) == ("User lives in Rome", "active", 0, 0, False)
    assert [change.what for change in then.changes] == ["created"]
    assert list(then.after) == []
    assert told(later.record) == told(now.record) == ("User lives in Rome", "superseded", OSLO_US, OSLO_US, True)
    assert {change.what for change in later.changes} == {"created", "status", "valid_until_us"}
    assert [one.text for one in later.after] == ["I moved to Oslo."]
    assert [one.text for one in now.after] == ["I moved to Oslo.", "I moved to Bergen."]


def test_the_state_of_a_moment_is_that_of_what_was_known(moved: Worker) -> None:
    for known_us, status in ((OSLO_US - 1, "active"), (0, "superseded")):
        asked = temporal_pb2.StateRequest(user_id="ada", at_us=ROME_US + DAY, known_as_of_us=known_us)
        assert [(one.value, one.status) for one in moved.ask(asked).facts] == [("Rome", status)]

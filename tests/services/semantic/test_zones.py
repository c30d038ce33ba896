"""What a message says of time is meant where it was said, also when it is edited, recalled or summed up later."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from aico_memory.contracts.v1 import semantic_pb2
from aico_memory.domain.memory import RECORD, Memory, record_of
from aico_memory.domain.recall.question import understand
from aico_memory.domain.sleep import names
from aico_memory.ids import derive_id
from services.semantic.policing import Policing
from services.semantic.said_alike import SaidAlike
from tests.services.semantic.knowledge import ADA, NOW, identifier, put, run, summaries, trip
from tests.services.semantic.statements import items
from tests.services.semantic.test_decided_otherwise import current, update
from tests.services.semantic.worker import START, Worker, shipped_tables

ZONE = "America/Los_Angeles"
DAY = 86_400_000_000
# Half past ten in the evening there; in UTC it is the next day.
SAID_US = int(datetime(2026, 1, 15, 22, 30, tzinfo=ZoneInfo(ZONE)).timestamp()) * 1_000_000


def at(year: int, month: int, day: int, zone: str = ZONE) -> int:
    return int(datetime(year, month, day, tzinfo=ZoneInfo(zone)).timestamp()) * 1_000_000


@pytest.fixture
def worker(tmp_path):
    made = Worker(tmp_path / "home")
    yield made
    made.handlers.close()


def test_a_message_keeps_the_zone_that_it_was_said_in(worker: Worker) -> None:
    told = worker.say("I live in Rome.", zone=ZONE)
    other = worker.say("I like tea.")
    found = worker.handlers.state.get([uuid.UUID(one).bytes for one in (told, other)], [ADA])
    assert [one.zone for one in found] == [ZONE, ""]


@pytest.mark.parametrize("zone", [ZONE, "Europe/Berlin", ""])
def test_days_of_an_edited_message_are_those_of_its_zone(worker: Worker, zone: str) -> None:
    record = worker.say("I moved to Oslo on 1 January.", zone=zone, said_at_us=SAID_US)
    worker.answered(semantic_pb2.UpdateMemory(user_id="ada", memory_id=record, text="I moved to Bergen on 10 January."))
    bergen = [one.memory.valid_from_us for one in items(worker) if one.value == "Bergen"]
    assert bergen == [at(2026, 1, 10, zone or "UTC")]


@pytest.mark.parametrize("zone", [ZONE, ""])
def test_days_of_an_edited_item_are_those_of_what_it_rests_on(worker: Worker, zone: str) -> None:
    worker.say("I live in Rome.", zone=zone, said_at_us=SAID_US)
    update(worker, "User lives in Rome since 10 January 2026")
    assert current(worker).memory.valid_from_us == at(2026, 1, 10, zone or "UTC")


def test_a_message_is_read_in_its_own_zone_and_one_without_in_that_of_the_question(worker: Worker) -> None:
    worker.say("The ladder is with Ann until tomorrow.", zone=ZONE)
    worker.say("The drill is with Ben until tomorrow.")
    tables, settings = shipped_tables(), worker.settings
    policing = Policing(settings.write_path.policy, settings.identity)
    look = SaidAlike(worker.handlers.state, tables, policing, settings.recall)
    question = understand("Where is the ladder?", tables.grammars["en"], tables, START, "Asia/Tokyo")
    found = look(question, tables.grammars["en"], [ADA], {"ada"}, worker.clock.now_us(), "Asia/Tokyo")
    assert [one.zone for one in found] == [ZONE, "Asia/Tokyo"]


def said_there(store: Any, zone: str, *numbers: int) -> None:
    """The messages that `put` makes its items of."""
    with store.transaction() as transaction:
        for number in numbers:
            event_id = derive_id(uuid.UUID(bytes=identifier(number)), "message").bytes
            said_us = START - 40 * DAY
            transaction.add(
                Memory(
                    memory_id=record_of(event_id), scope=ADA, owner="ada", kind=RECORD, text="", said_at_us=said_us,
                    recorded_at_us=said_us, valid_from_us=said_us, created_at_us=said_us, updated_at_us=said_us,
                    received_at_us=said_us, zone=zone,
                ),
                (), (), number,
            )  # fmt: skip


@pytest.mark.parametrize(("zone", "day"), [("", "Fridays"), (ZONE, "Thursdays"), ("Asia/Tokyo", "Fridays")])
def test_a_habit_is_of_the_day_where_it_was_told(worker: Worker, zone: str, day: str) -> None:
    store = worker.handlers.state
    # 1 January 2026 is a Thursday; what is told comes at four in the morning after it, by UTC.
    said_there(store, zone, 1, 2, 3, 4)
    put(store, *(trip(number, f"Ate in Paris, plate {number}", 7 * number + 1 + 4 / 24) for number in range(1, 5)))
    run(store, names.ABSTRACTION, NOW + 30 * DAY)
    (pattern,) = summaries(store, "pattern")
    assert pattern.text == f"User usually talks about Paris on {day}."

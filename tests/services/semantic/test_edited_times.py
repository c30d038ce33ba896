"""What the new text of an edited item says of time, of whom and of what is taken from it, as from a message."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from aico_memory.contracts.v1 import semantic_pb2
from aico_memory.domain.memory import OPEN
from aico_memory.errors import InvalidMessage
from tests.services.semantic.statements import DAY, items
from tests.services.semantic.test_decided_otherwise import HOME, current, recall, update
from tests.services.semantic.worker import START, Worker

SAID_US = START - 40 * DAY


def day(years: int, month: int, of_month: int) -> int:
    return int(datetime(years, month, of_month, tzinfo=UTC).timestamp()) * 1_000_000


def edited(worker: Worker, said: str, text: str) -> Any:
    worker.say(said, said_at_us=SAID_US)
    update(worker, text)
    return current(worker)


def date_of(at_us: int) -> str:
    return datetime.fromtimestamp(at_us / 1_000_000, UTC).strftime("%-d %B %Y")


@pytest.mark.parametrize("text", ["I live in Rome until {}.", "User lives in Milan until {}", "Ich wohne in Rom bis {}"])
def test_a_value_that_an_edit_bounds_ends_then(worker: Worker, text: str) -> None:
    until_us = START - 20 * DAY
    date = date_of(until_us)
    if text.startswith("Ich"):
        date = date.replace(" ", ". ", 1).replace("January", "Januar").replace("February", "Februar").replace("March", "März")
    item = edited(worker, "I live in Rome.", text.format(date))
    assert item.value in {"Rome", "Milan", "Rom"}
    assert (item.memory.status, item.memory.temporal_type) == ("expired", "time_bounded")
    assert until_us - DAY <= item.memory.valid_until_us <= until_us + DAY
    assert recall(worker, HOME) == []
    assert recall(worker, HOME, as_of_us=SAID_US + DAY) == [item.value]
    edge = worker.handlers.state.edge_of(item.memory.memory_id)
    assert edge is not None and edge.valid_until_us == item.memory.valid_until_us
    worker.say("I live in Oslo.")
    assert recall(worker, HOME) == ["Oslo"]
    assert recall(worker, HOME, as_of_us=SAID_US + DAY) == [item.value]


@pytest.mark.parametrize(
    ("said", "text", "value", "from_us", "until_us"),
    [
        ("I live in Rome.", "User lives in Milan since 2019", "Milan", day(2019, 1, 1), OPEN),
        ("I live in Rome.", "I have lived in Rome since 2019.", "Rome", day(2019, 1, 1), OPEN),
        ("I live in Rome.", "I lived in Rome from 2010 to 2015.", "Rome", day(2010, 1, 1), day(2015, 1, 1)),
        ("I live in Rome.", "User lives in Milan, not Rome", "Milan", SAID_US, OPEN),
        ("I have lived in Rome since 2019.", "I live in Rome.", "Rome", SAID_US, OPEN),
        ("I live in Rome for 90 days.", "I live in Rome.", "Rome", SAID_US, OPEN),
    ],
)
def test_an_edit_holds_as_long_as_its_words_say(
    worker: Worker, said: str, text: str, value: str, from_us: int, until_us: int
) -> None:
    item = edited(worker, said, text)
    assert (item.value, item.memory.valid_from_us, item.memory.valid_until_us) == (value, from_us, until_us)
    kept = worker.handlers.state.statement(item.memory.memory_id)
    assert kept is not None and (kept[0].fact.valid_from_us, kept[0].fact.valid_until_us) == (from_us, until_us)
    assert recall(worker, HOME) == ([value] if until_us == OPEN else [])


def test_what_an_edit_says_was_so_once_is_so_no_more(worker: Worker) -> None:
    known_us = worker.clock.now_us()
    item = edited(worker, "I like tea.", "I used to like tea.")
    assert item.memory.status == "expired"
    assert recall(worker, "What do I like?") == []
    assert recall(worker, "What do I like?", known_as_of_us=known_us) == ["tea"]


def test_an_edit_that_tells_of_somebody_else_answers_for_them_alone(worker: Worker) -> None:
    item = edited(worker, "I live in Rome.", "Anna lives in Rome.")
    assert item.subject == "anna"
    assert recall(worker, HOME) == []
    assert recall(worker, "Where does Anna live?") == ["Rome"]


def test_an_edit_tells_of_the_same_person_where_it_speaks_of_two(worker: Worker) -> None:
    item = edited(worker, "I live in Rome.", "Anna lives in Oslo and I live in Milan.")
    assert (item.subject, item.value) == ("user", "Milan")


def test_an_end_that_was_learned_later_outlasts_an_edit_without_one(worker: Worker) -> None:
    worker.say("I live in Rome.", said_at_us=SAID_US)
    worker.say("I live in Rome for 90 days.", said_at_us=SAID_US + DAY)
    until_us = current(worker).memory.valid_until_us
    update(worker, "I live in Milan.")
    assert current(worker).value == "Milan"
    assert current(worker).memory.valid_until_us == until_us < OPEN


def test_an_exception_is_not_made_to_hold_open_beside_what_does(worker: Worker) -> None:
    worker.say("I live in Oslo.", said_at_us=SAID_US - 100 * DAY)
    worker.say("I live in Rome for 90 days.", said_at_us=SAID_US)
    rome = next(one.memory.memory_id for one in items(worker) if one.value == "Rome")
    with pytest.raises(InvalidMessage, match="already"):
        worker.answered(semantic_pb2.UpdateMemory(user_id="ada", memory_id=rome.hex(), text="I live in Rome."))


@pytest.mark.parametrize(
    ("text", "reading"),
    [("The weather is nice in May and everyone smiles.", ("", "")), ("Whoever likes it likes it.", ("user", "likes"))],
)
def test_a_text_that_has_no_word_in_common_answers_no_more(worker: Worker, text: str, reading: tuple[str, str]) -> None:
    item = edited(worker, "I like tea.", text)
    assert (item.subject, item.predicate) == reading
    assert recall(worker, "What do I like?") == ([] if reading == ("", "") else [""])

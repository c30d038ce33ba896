"""A client of a real broker, and a worker in the test's hands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from aico_memory.bus.link import Link, read_address
from aico_memory.client import MemoryClient
from aico_memory.clock import SystemClock
from aico_memory.contracts.envelope import Event, make_record, make_reply, open_record
from aico_memory.contracts.wire import StampedRecord
from aico_memory.ids import new_id
from aico_memory.paths import Home
from aico_memory.settings.link import LinkSettings
from aico_memory.vault.curve_keys import load_identity


class Worker:
    """Answers what it is told to answer, under the identity of a real worker."""

    def __init__(self, home: Home, name: str) -> None:
        self.link = Link(lambda: read_address(home), load_identity(home, name), settings=LinkSettings(), clock=SystemClock())
        self.link.start(60)
        self.name = name
        self.seen: list[Event] = []

    def answers(self, topic: str, answer: Callable[[Event], Any]) -> None:
        """Answer every record on this topic, durable or not."""

        def deliver(record: StampedRecord) -> None:
            event = open_record(record)
            self.seen.append(event)
            outcome = answer(event)
            if outcome is not None:
                reply = make_record(
                    make_reply(outcome), event_id=new_id(), occurred_us=1, user=event.user,
                    topic=event.reply_to, correlation_id=event.event_id,
                )  # fmt: skip
                self.link.send(reply)

        self.link.subscribe([topic], deliver)

    def report(self, topics: list[str], settled: int) -> None:
        body = {"consumer": self.name, "topics": topics, "applied": settled, "settled": settled, "outbox": 0}
        self.link.control("report", body).result(60)


@pytest.fixture
def worker(broker: object, home: Home) -> Iterator[Callable[[str], Worker]]:
    made: list[Worker] = []

    def make(name: str) -> Worker:
        made.append(Worker(home, name))
        return made[-1]

    yield make
    for one in made:
        one.link.close()


@pytest.fixture
def client(broker: object, home: Home) -> Iterator[MemoryClient]:
    with MemoryClient.connect(home.root) as connected:
        yield connected

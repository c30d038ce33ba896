"""A subscription between the bus's threads and the event loop of its reader."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from aico_memory.client import stream
from aico_memory.client.stream import EventStream
from aico_memory.contracts.envelope import make_record
from aico_memory.contracts.registry import topic_named
from aico_memory.contracts.v1 import behavioral_pb2, sleep_pb2
from aico_memory.contracts.wire import StampedRecord
from aico_memory.errors import AicoMemoryError, ClosedConnection, JournalLost, NotAuthorised
from aico_memory.ids import new_id

PROGRESS = topic_named("memory/consolidation/progress/v1/")
UPDATED = topic_named("memory/behavioral/skill_updated/v1/")
PATIENCE = 30.0


def stamped(message: Any, number: int) -> StampedRecord:
    record = make_record(message, event_id=new_id(), occurred_us=1, user="u")
    return StampedRecord(record.topic, record.event_id, record.user, record.envelope, "behavioral", number, number, number)


def updated(number: int) -> StampedRecord:
    return stamped(behavioral_pb2.SkillUpdated(user_id="u", skill_id=str(number)), number)


class Records:
    """A consumer that gives one record after another, as long as there are any, and then its error where it has one."""

    def __init__(self, numbers: range, error: AicoMemoryError | None = None) -> None:
        self.left = [updated(number) for number in numbers]
        self.asked = threading.Semaphore(0)
        self.error = error
        self.closed = False
        self.go_on = threading.Event()
        self.go_on.set()

    def receive(self, most: int, seconds: float) -> list[StampedRecord]:
        self.asked.release()
        self.go_on.wait(PATIENCE)
        if not self.left and self.error is not None:
            raise self.error
        return [self.left.pop(0)] if self.left else []

    def wait_live(self, seconds: float) -> None:
        pass

    def close(self) -> None:
        self.closed = True


class Subscribed:
    def close(self) -> None:
        pass


def session(link: Any) -> Any:
    async def control(verb: str, body: dict[str, object]) -> dict[str, object]:
        return {"head": 0}

    return SimpleNamespace(link=link, control=control, settings=SimpleNamespace(request_seconds=PATIENCE))


def test_an_event_loop_that_ended_before_its_subscription_leaves_nothing_half_done() -> None:
    records = Records(range(3))

    async def subscribe() -> EventStream:
        records.go_on.clear()
        events = EventStream(session(SimpleNamespace(epoch=1, consume=lambda *_: records)), UPDATED, None)
        await events.open()
        return events

    events = asyncio.run(subscribe())
    (pump,) = [one for one in threading.enumerate() if one.name == "event-stream"]
    records.go_on.set()
    pump.join(PATIENCE)
    assert not pump.is_alive()
    assert not events._closed
    assert len(records.left) == 2


def test_a_durable_topic_waits_for_its_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "_HELD", 2)
    monkeypatch.setattr(stream, "_SECONDS", 0.01)
    records = Records(range(7))

    async def read() -> tuple[int, list[str]]:
        events = EventStream(session(SimpleNamespace(epoch=1, consume=lambda *_: records)), UPDATED, None)
        await events.open()
        # Two that are held and one that waits for room.
        await asyncio.to_thread(lambda: [records.asked.acquire(timeout=PATIENCE) for _ in range(3)])
        left = len(records.left)
        heard = [(await anext(events))["fields"]["skill_id"] for _ in range(7)]
        await events.close()
        return left, heard

    left, heard = asyncio.run(read())
    assert left >= 4
    assert heard == [str(number) for number in range(7)]


def test_an_ephemeral_topic_loses_what_nobody_reads_and_counts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "_HELD", 2)

    async def read() -> tuple[list[str], int]:
        delivered: list[Any] = []

        def subscribe(topics: list[str], deliver: Any) -> Subscribed:
            delivered.append(deliver)
            return Subscribed()

        events = EventStream(session(SimpleNamespace(subscribe=subscribe)), PROGRESS, None)
        await events.open()

        def send(phases: str) -> None:
            for number, phase in enumerate(phases):
                delivered[0](stamped(sleep_pb2.ConsolidationProgress(run_id="r", phase=phase), number))

        await asyncio.to_thread(send, "abcd")
        heard = [(await anext(events))["fields"]["phase"] for _ in range(2)]
        await asyncio.to_thread(send, "e")
        heard.append((await anext(events))["fields"]["phase"])
        await events.close()
        with pytest.raises(StopAsyncIteration):
            await anext(events)
        return heard, events.lost

    assert asyncio.run(read()) == (["a", "b", "e"], 2)


def test_an_error_is_raised_once_behind_what_came_before_it_and_ends_the_iteration() -> None:
    records = Records(range(2), JournalLost("another journal"))

    async def read() -> list[str]:
        events = EventStream(session(SimpleNamespace(epoch=1, consume=lambda *_: records)), UPDATED, None)
        await events.open()
        heard = [(await anext(events))["fields"]["skill_id"] for _ in range(2)]
        with pytest.raises(JournalLost):
            await anext(events)
        for _ in range(3):
            with pytest.raises(StopAsyncIteration):
                await asyncio.wait_for(anext(events), PATIENCE)
        await events.close()
        return heard

    assert asyncio.run(read()) == ["0", "1"]
    assert records.closed


def test_a_link_that_is_closed_ends_the_iteration_for_good() -> None:
    records = Records(range(0), ClosedConnection("The client is closed"))

    async def read() -> None:
        events = EventStream(session(SimpleNamespace(epoch=1, consume=lambda *_: records)), UPDATED, None)
        await events.open()
        for _ in range(3):
            with pytest.raises(StopAsyncIteration):
                await asyncio.wait_for(anext(events), PATIENCE)

    asyncio.run(read())


def test_an_error_behind_a_callback_is_logged_and_closes_the_subscription(caplog: pytest.LogCaptureFixture) -> None:
    records = Records(range(2), NotAuthorised("The key was revoked"))
    heard: list[str] = []

    async def read() -> None:
        link = SimpleNamespace(epoch=1, consume=lambda *_: records)
        events = EventStream(session(link), UPDATED, lambda event: heard.append(event["fields"]["skill_id"]))
        await events.open()
        assert events._task is not None
        await asyncio.wait_for(events._task, PATIENCE)
        await events.close()

    asyncio.run(read())
    assert heard == ["0", "1"]
    assert records.closed
    (told,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert told.getMessage() == "a subscription has ended"
    assert vars(told)["code"] == "not_authorised"

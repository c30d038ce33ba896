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
    """A consumer that gives one record after another, as long as there are any."""

    def __init__(self, numbers: range) -> None:
        self.left = [updated(number) for number in numbers]
        self.asked = threading.Semaphore(0)
        self.go_on = threading.Event()
        self.go_on.set()

    def receive(self, most: int, seconds: float) -> list[StampedRecord]:
        self.asked.release()
        self.go_on.wait(PATIENCE)
        return [self.left.pop(0)] if self.left else []

    def wait_live(self, seconds: float) -> None:
        pass

    def close(self) -> None:
        pass


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

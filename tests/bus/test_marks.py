"""Marks behind a drain: consumers hear of drains with their own topics only, and each mark says since when it vouches."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any, cast

import pytest

from aico_memory.bus.broker import heads as heads_module
from aico_memory.bus.broker.heads import Marks
from aico_memory.contracts.envelope import make_record
from aico_memory.contracts.v1 import behavioral_pb2, bus_pb2
from aico_memory.contracts.wire import HEADS_TOPIC, MARKS_PREFIX, Kind, OutgoingRecord, marks_topic
from aico_memory.ids import new_id

MESSAGE = "memory/working/message/v1/"
FEEDBACK = "memory/behavioral/feedback/v1/"
WAIT_MS = 60_000


def feedback() -> OutgoingRecord:
    event = behavioral_pb2.FeedbackEvent(user_id="alice", message_id="m", skill_id="s", reward=1)
    return make_record(event, event_id=new_id(), occurred_us=1, user="alice")


def consume(client, *topics: str):
    """A SUB on the marks of a consumer of these topics, as the broker knows it."""
    client.send(Kind.SUBSCRIBE, bus_pb2.SubscribeCheck(request=1, topics=topics, consumer=True))
    client.receive(Kind.GRANTED)
    return client.subscribe(marks_topic(topics).decode())


def next_mark(sub) -> tuple[int, int, dict[str, int]]:
    """Since when it vouches, through where, and which topics moved to where."""
    while True:
        assert sub.poll(WAIT_MS), "no mark came"
        frame = sub.recv()
        if frame.startswith(MARKS_PREFIX):
            break
    heads = bus_pb2.Heads.FromString(frame[frame.index(b"/", len(MARKS_PREFIX)) + 1 :])
    return heads.previous, getattr(heads, "global"), {one.topic: one.sequence for one in heads.heads}


def test_a_drain_without_its_topics_is_none_of_a_consumers_business(broker, connect, message) -> None:
    client, worker = connect(), connect("semantic")
    client.acknowledged(message())
    sub = consume(worker, MESSAGE)
    for _ in range(5):
        client.acknowledged(feedback())
    client.acknowledged(message())
    # One mark, for the second message: it vouches for everything since the consumer came.
    assert next_mark(sub) == (1, 7, {MESSAGE: 2})
    client.acknowledged(feedback())
    client.acknowledged(message(), message())
    assert next_mark(sub) == (7, 10, {MESSAGE: 4})
    assert not sub.poll(100)


def test_consumers_of_the_same_topics_share_their_marks_and_others_have_their_own(broker, connect, message) -> None:
    client, one, two, both = connect(), connect("semantic"), connect("working"), connect("operator")
    first, second = consume(one, MESSAGE), consume(two, MESSAGE)
    wide = consume(both, FEEDBACK, MESSAGE)
    client.acknowledged(feedback())
    client.acknowledged(message())
    assert next_mark(first) == next_mark(second) == (0, 2, {MESSAGE: 1})
    assert next_mark(wide) == (0, 1, {FEEDBACK: 1})
    assert next_mark(wide) == (1, 2, {MESSAGE: 1})
    # Who goes takes nothing from those who stay.
    one.send(Kind.GOODBYE)
    one.hello()
    client.acknowledged(message())
    assert next_mark(second) == (2, 3, {MESSAGE: 2})


def test_a_plain_subscription_has_no_marks(broker, connect, message) -> None:
    client, worker = connect(), connect("semantic")
    worker.send(Kind.SUBSCRIBE, bus_pb2.SubscribeCheck(request=1, topics=[MESSAGE]))
    worker.receive(Kind.GRANTED)
    sub = worker.subscribe(marks_topic([MESSAGE]).decode(), HEADS_TOPIC.decode())
    client.acknowledged(message())
    # Behind the drain comes the beacon, which everybody hears, and nothing before it.
    while True:
        assert sub.poll(WAIT_MS)
        frame = sub.recv()
        assert frame.startswith(HEADS_TOPIC)
        if getattr(bus_pb2.Heads.FromString(frame[len(HEADS_TOPIC) :]), "global") == 1:
            break


def test_who_says_hello_again_goes_on_hearing_marks(broker, connect, message) -> None:
    client, worker = connect(), connect("semantic")
    sub = consume(worker, MESSAGE)
    worker.hello()
    client.acknowledged(message())
    assert next_mark(sub) == (0, 1, {MESSAGE: 1})


def test_nobody_uses_up_the_marks_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads_module, "_SETS_PER_IDENTITY", 2)
    monkeypatch.setattr(heads_module, "_SETS", 3)
    journal = SimpleNamespace(epoch=1, head=5, heads={topic.encode(): (0, 5) for topic in (MESSAGE, FEEDBACK)})
    sent: list[bytes] = []
    marks = Marks(cast(Any, journal), cast(Any, SimpleNamespace(send=sent.append)))
    sets = [[MESSAGE], [FEEDBACK], [MESSAGE, FEEDBACK], [MESSAGE, "memory/other/v1/"]]

    def heard() -> list[int]:
        sent.clear()
        marks.send([topic.encode() + b"\0" for topic in (MESSAGE, FEEDBACK)])
        return [at for at, topics in enumerate(sets) if any(frame.startswith(marks_topic(topics)) for frame in sent)]

    marks.join(b"1", "greedy", sets[0])
    marks.join(b"2", "greedy", sets[1])
    marks.join(b"2", "greedy", sets[2])
    # A third set is one too many for an identity, by whichever of its connections; a set that it has already is not.
    assert heard() == [0, 1]
    marks.join(b"2", "greedy", sets[0])
    marks.join(b"3", "other", sets[2])
    marks.join(b"3", "other", sets[3])
    # And a fourth one too many for all.
    assert heard() == [0, 1, 2]
    marks.leave(b"1")
    assert heard() == [0, 1, 2]
    marks.leave(b"2")
    marks.join(b"3", "other", sets[3])
    assert heard() == [2, 3]


def test_who_is_told_to_begin_anew_and_goes_instead_leaves_no_marks_behind(
    broker, connect, message, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aico_memory.bus.broker.sessions._PROBE_SECONDS", 0.01)
    client, worker = connect(), connect("semantic")
    consume(worker, MESSAGE)
    marks = broker.broker._sessions._marks
    with monkeypatch.context() as broken:

        def fail(connection: Any, frame: bytes) -> None:
            raise RuntimeError("unexpected")

        broken.setattr(broker.broker._intake, "take", fail)
        worker.publish(message())
        worker.receive(Kind.RESYNC)
    assert len(marks.connections()) == 1
    worker.close()
    deadline = time.monotonic() + 60
    while marks.connections():
        assert time.monotonic() < deadline, "the connection was never missed"
        client.control("ping")

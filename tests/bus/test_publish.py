"""Publishing: acknowledged, in order, once."""

from __future__ import annotations

from aico_memory.bus.broker import Broker  # noqa: F401

MESSAGE = "memory/working/message/v1/"


def test_a_publish_is_acknowledged_with_its_sequences_and_read_again(broker, connect, message) -> None:
    client = connect()
    assert client.acknowledged(message(), message("bob")) == [(1, 1), (2, 2)]
    worker = connect("working")
    records = worker.read(MESSAGE)
    assert [(one.global_sequence, one.user, one.sender) for one in records] == [(1, "alice", "default"), (2, "bob", "default")]


def test_a_subscriber_that_is_ready_hears_what_is_published_after(broker, connect, message) -> None:
    client, worker = connect(), connect("working")
    sub = worker.subscribe(MESSAGE)
    record = message()
    client.acknowledged(record)
    assert sub.poll(2000)
    assert record.envelope in sub.recv()

"""What a client is told of a publish that nobody acknowledged, and when the messages of one list were said."""

from __future__ import annotations

import uuid

import pytest

from aico_memory import MemoryClient
from aico_memory.client import session
from aico_memory.clock import FixedClock
from aico_memory.contracts.envelope import open_record
from aico_memory.errors import BusUnavailable, ClosedConnection
from aico_memory.paths import Home
from aico_memory.runtime.waiting import until

MESSAGES = "memory/working/message/v1/"


def test_what_was_not_acknowledged_is_named_and_given_again_it_has_one_effect(home: Home, broker, connect, monkeypatch) -> None:
    monkeypatch.setenv("AICO_MEMORY_SET__link__publish_seconds", "0.3")
    said = [{"role": "user", "content": f"n{number}"} for number in range(3)]
    with MemoryClient.connect(home.root) as client:
        broker.stop()
        with pytest.raises(BusUnavailable, match="may still arrive") as refused:
            client.add(said, "u")
        ids = refused.value.event_ids
        assert len({uuid.UUID(one) for one in ids}) == 3
        broker.start()
        until(lambda: client.connected or None, 120, "The client does not find the broker again")
        again = [{**message, "id": identifier} for message, identifier in zip(said, ids, strict=True)]
        assert client.add(again, "u") == list(ids)
    assert [str(record.id) for record in connect("operator").read(MESSAGES)] == list(ids)


def test_a_command_that_was_not_acknowledged_names_its_event(home: Home, broker, monkeypatch) -> None:
    monkeypatch.setenv("AICO_MEMORY_SET__link__command_seconds", "0.3")
    given = uuid.uuid4()
    with MemoryClient.connect(home.root) as client:
        broker.stop()
        with pytest.raises(BusUnavailable, match="may still arrive") as refused:
            client.feedback("u", "m", "s", 1, event_id=given)
    assert refused.value.event_ids == (str(given),)


def test_a_closed_client_promises_nothing(home: Home, broker) -> None:
    client = MemoryClient.connect(home.root)
    client.close()
    with pytest.raises(ClosedConnection) as refused:
        client.add([{"role": "user", "content": "x"}], "u")
    assert refused.value.event_ids == () and session.MAY_ARRIVE not in refused.value.mend


def test_the_messages_of_a_list_were_said_one_after_the_other(client: MemoryClient, connect, monkeypatch) -> None:
    clock = FixedClock(client._client._session.clock.now())
    monkeypatch.setattr(client._client._session, "clock", clock)
    client.add([{"role": "user", "content": f"n{number}"} for number in range(20)], "u")
    said = [open_record(record) for record in connect("operator").read(MESSAGES)]
    assert [event.event_id for event in said] == sorted(event.event_id for event in said)
    # A clock that stands still puts nothing into the future, where it would not be true yet.
    assert {event.occurred_us for event in said} == {clock.now_us()}

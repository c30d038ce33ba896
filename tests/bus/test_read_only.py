"""The emergency stop at the broker: what people say is taken, commands are refused, the switch outlives everything."""

from __future__ import annotations

import json

import pytest

from aico_memory.bus.read_only import ReadOnlySwitch, WriteStop
from aico_memory.contracts.envelope import make_record, open_record
from aico_memory.contracts.v1 import behavioral_pb2, bus_pb2
from aico_memory.contracts.wire import Kind, OutgoingRecord, unpack_ack
from aico_memory.ids import new_id
from aico_memory.vault.curve_keys import add_identity

AUDIT = "memory/bus/audit/v1/"


def thumb() -> OutgoingRecord:
    judged = behavioral_pb2.FeedbackEvent(user_id="alice", message_id="m", skill_id="casual_chat", reward=1)
    return make_record(judged, event_id=new_id(), occurred_us=1, user="alice")


def test_messages_are_acknowledged_and_commands_are_refused(home, broker, connect, message) -> None:
    client = connect()
    assert not client.control("read_only_state")["on"]
    state = client.control("read_only", action="on", reason="strange facts")
    assert state["on"] and state["by"] == "default" and state["reason"] == "strange facts" and state["since_us"] > 0
    client.publish(thumb())
    refusal = client.refusal()
    assert refusal.code == "read_only" and "strange facts" in refusal.detail
    # The refused one took its place in the producer's sequence, without a place in the journal.
    assert unpack_ack(bytes((Kind.ACK,)) + client.receive(Kind.ACK)) == (1, [(0, 0)])
    assert client.acknowledged(message())[0][1] == 1
    assert client.control("consumers")["read_only"] == state
    assert not client.control("read_only", action="off")["on"]
    assert client.acknowledged(thumb())


def test_what_workers_tell_one_another_is_not_refused(home, broker, connect) -> None:
    connect("operator").control("read_only", action="on")
    worker = connect("behavioral")
    assert worker.acknowledged(thumb())


def test_the_switch_survives_the_broker_and_is_audited(home, make_broker, connect, message) -> None:
    running = make_broker()
    connect("operator").control("read_only", action="on", reason="halt")
    running.stop()
    running.start()
    client = connect()
    assert client.control("read_only_state")["reason"] == "halt"
    client.publish(thumb())
    assert client.refusal().code == "read_only"
    connect("operator").control("read_only", action="off")
    audits = [open_record(record).message for record in connect("operator").read(AUDIT)]
    found = [(one.actor, json.loads(one.detail_json)["on"]) for one in audits if one.action == "read_only"]
    assert found == [("operator", True), ("operator", False)]


def test_a_broker_follows_a_switch_that_was_thrown_on_the_disk(home, broker, connect) -> None:
    client = connect()
    ReadOnlySwitch(home).stop("command line", "", 7)
    client.publish(thumb())
    assert client.refusal().code == "read_only"


@pytest.mark.parametrize("identity", ["observer", "publisher"])
def test_not_everybody_may_throw_it(home, broker, connect, identity) -> None:
    add_identity(home, "somebody", identity)
    client = connect("somebody")
    client.send(Kind.CONTROL, bus_pb2.Control(request=9, verb="read_only", body='{"action": "on"}'))
    assert client.refusal().code == "access_denied"
    assert not ReadOnlySwitch(home).on


def test_who_is_bound_to_certain_users_cannot_stop_everybody(home, broker, connect) -> None:
    add_identity(home, "bound", "client", scopes=["alice"])
    client = connect("bound")
    client.send(Kind.CONTROL, bus_pb2.Control(request=9, verb="read_only", body='{"action": "on"}'))
    assert client.refusal().code == "access_denied"
    assert not client.control("read_only_state")["on"]


def test_stopping_twice_keeps_the_first_word_and_a_torn_file_stops_too(home) -> None:
    switch = ReadOnlySwitch(home)
    first = switch.stop("ana", "why", 5)
    assert first == WriteStop(True, 5, "ana", "why") == switch.stop("ben", "other", 6) == switch.state()
    home.read_only.write_text("{")
    assert switch.on and switch.state() == WriteStop(True)
    assert switch.release() == WriteStop() == switch.release() == switch.state()

"""Questions to the broker, ranges over the bus, and what the broker says of itself."""

from __future__ import annotations

import json
import time
import uuid
from datetime import UTC, datetime, timedelta

import pytest

from aico_memory.bus.broker import Broker
from aico_memory.clock import FixedClock
from aico_memory.contracts.envelope import make_record
from aico_memory.contracts.v1 import bus_pb2
from aico_memory.contracts.wire import Kind, OutgoingRecord
from aico_memory.errors import BusUnavailable, StoreLocked
from aico_memory.ids import new_id
from aico_memory.settings.bus import BusSettings
from aico_memory.vault.curve_keys import add_identity
from tests.bus.conftest import RunningBroker, make_home

MESSAGE = "memory/working/message/v1/"
TURN = "memory/working/turn/v1/"
CHANGED = "memory/semantic/changed/v1/"
DEAD_LETTER = "memory/bus/dead_letter/v1/"


def dead_letter(failed: uuid.UUID, consumer: str = "working", user: str = "") -> OutgoingRecord:
    letter = bus_pb2.DeadLetter(
        event_id=failed.bytes, topic=MESSAGE, user_id=user, consumer=consumer, code="invalid_message", reason="no", attempts=5
    )
    return make_record(letter, event_id=new_id(), occurred_us=1, user=user)


def test_a_range_comes_in_chunks_with_the_positions_of_every_topic(broker, connect, message) -> None:
    client, worker = connect(), connect("working")
    client.acknowledged(*[message() for _ in range(10)])
    found = worker.read(MESSAGE, TURN, from_global=3, limit=4)
    assert [one.global_sequence for one in found] == list(range(3, 11))
    head = worker.range_head
    assert (head.next_global, head.at_head, head.missing, head.epoch) == (11, True, 0, broker.broker.address["epoch"])
    assert [(one.topic, one.sequence) for one in head.positions] == [(MESSAGE, 10), (TURN, 0)]


@pytest.mark.parametrize(
    ("identity", "topics", "code"),
    [
        ("default", [MESSAGE], "access_denied"),
        ("working", ["memory/working/read/v1/"], "invalid_message"),
        ("working", ["memory/working/"], "invalid_message"),
        ("working", ["memory/nothing/at_all/v1/"], "unknown_topic"),
        ("working", [], "invalid_message"),
    ],
)
def test_a_range_that_is_not_allowed_or_makes_no_sense_is_refused(broker, connect, identity, topics, code) -> None:
    client = connect(identity)
    client.send(Kind.RANGE_REQUEST, bus_pb2.RangeRequest(request=5, topics=topics))
    refusal = client.refusal()
    assert (refusal.request, refusal.code) == (5, code)


def test_a_subscription_is_checked_with_a_clear_answer(broker, connect) -> None:
    client = connect()
    client.send(Kind.SUBSCRIBE, bus_pb2.SubscribeCheck(request=1, topics=[CHANGED]))
    assert bus_pb2.Granted.FromString(client.receive(Kind.GRANTED)).request == 1
    client.send(Kind.SUBSCRIBE, bus_pb2.SubscribeCheck(request=2, topics=[CHANGED, MESSAGE]))
    refusal = client.refusal()
    assert (refusal.request, refusal.code) == (2, "access_denied")
    assert MESSAGE in refusal.detail


def test_an_identity_with_scopes_reads_only_the_records_of_its_users(home, broker, connect, message) -> None:
    add_identity(home, "bound", "working", scopes=["alice"])
    connect().acknowledged(message("alice"), message("bob"), message("alice"))
    bound = connect("bound")
    assert [one.user for one in bound.read(MESSAGE)] == ["alice", "alice"]
    # Not the sequence after the last of alice's: what others wrote is passed over for good.
    assert bound.range_head.next_global == broker.broker.statistics()["journal"]["head"] + 1
    bound.send(Kind.RANGE_REQUEST, bus_pb2.RangeRequest(request=5, topics=[MESSAGE], user="bob"))
    assert bound.refusal().code == "access_denied"
    bound.send(Kind.SUBSCRIBE, bus_pb2.SubscribeCheck(request=6, topics=[MESSAGE]))
    assert bound.refusal().code == "access_denied"
    sub = bound.subscribe(MESSAGE)
    connect().acknowledged(message("bob"))
    assert not sub.poll(300)


def test_an_identity_with_scopes_publishes_only_for_its_users(home, broker, connect, message) -> None:
    add_identity(home, "bound", "client", scopes=["alice"])
    bound = connect("bound")
    assert bound.acknowledged(message("alice"))[0][1] == 1
    bound.publish(message("bob"))
    assert bound.refusal().code == "access_denied"


def test_consumers_report_and_their_lag_is_seen(broker, connect, message) -> None:
    client, worker = connect(), connect("working")
    client.acknowledged(*[message() for _ in range(5)])
    assert worker.control("report", consumer="working", topics=[MESSAGE, TURN], applied=2, settled=1, outbox=3) == {"head": 5}
    found = client.control("consumers")
    assert (found["head"], found["topics"]) == (5, {MESSAGE: [5, 5]})
    (entry,) = found["consumers"]
    assert {key: entry[key] for key in ("name", "applied", "settled", "outbox", "lag")} == {
        "name": "working", "applied": 2, "settled": 1, "outbox": 3, "lag": 3,
    }  # fmt: skip
    worker.control("report", consumer="working", topics=[MESSAGE, TURN], applied=5, settled=5)
    assert client.control("consumers")["consumers"][0]["lag"] == 0


def test_consumers_are_known_after_a_restart_and_can_be_removed(make_broker, connect, message) -> None:
    running = make_broker()
    connect("working").control("report", consumer="working", topics=[MESSAGE], applied=0, settled=0)
    running.stop()
    running.start()
    operator = connect("operator")
    assert [one["name"] for one in operator.control("consumers")["consumers"]] == ["working"]
    operator.control("consumer_remove", consumer="working")
    assert operator.control("consumers")["consumers"] == []


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"consumer": "x", "topics": ["memory/nothing/"]},
        {"consumer": "x", "topics": [MESSAGE], "applied": -1},
        {"consumer": "x", "topics": [MESSAGE], "applied": "3"},
        {"consumer": "", "topics": [MESSAGE]},
        {"consumer": "x" * 200, "topics": [MESSAGE]},
        {"consumer": "x", "topics": [["list"]]},
    ],
)
def test_a_report_that_makes_no_sense_is_refused(broker, connect, body) -> None:
    worker = connect("working")
    worker.send(Kind.CONTROL, bus_pb2.Control(request=3, verb="report", body=json.dumps(body)))
    refusal = worker.refusal()
    assert (refusal.request, refusal.code) == (3, "invalid_message")


@pytest.mark.parametrize(
    ("identity", "verb", "body", "code"),
    [
        ("default", "statistics", "{}", "access_denied"),
        ("default", "report", "{}", "access_denied"),
        ("publisher", "consumers", "{}", "access_denied"),
        ("operator", "shutdown", "{}", "invalid_message"),
        ("operator", "ping", "[", "invalid_message"),
        ("operator", "ping", "[]", "invalid_message"),
        ("operator", "ping", "[" * 50_000, "invalid_message"),
        ("operator", "dead_letters", '{"limit": -1}', "invalid_message"),
        ("operator", "dead_letter_settle", '{"action": "drop"}', "invalid_message"),
        ("operator", "dead_letter_settle", '{"action": "burn", "event_id": "x"}', "invalid_message"),
        ("operator", "dead_letter_settle", '{"action": "drop", "event_id": "x"}', "not_found"),
    ],
)
def test_a_question_that_is_not_allowed_or_unknown_is_refused(broker, connect, identity, verb, body, code) -> None:
    client = connect(identity)
    client.send(Kind.CONTROL, bus_pb2.Control(request=4, verb=verb, body=body))
    refusal = client.refusal()
    assert (refusal.request, refusal.code) == (4, code)


def test_dead_letters_are_listed_page_by_page_and_settled_once(broker, connect) -> None:
    worker, operator = connect("working"), connect("operator")
    failed = [uuid.UUID(int=number) for number in range(1, 6)]
    worker.acknowledged(*[dead_letter(one, user="alice") for one in failed])
    first = operator.control("dead_letters", limit=3)
    assert [one["event_id"] for one in first["dead_letters"]] == [str(one) for one in failed[:3]]
    assert {"reason": "no", "consumer": "working", "sender": ""}.items() <= first["dead_letters"][0].items()
    rest = operator.control("dead_letters", limit=3, after=first["next"])
    assert [one["event_id"] for one in rest["dead_letters"]] == [str(one) for one in failed[3:]]
    assert rest["next"] is None
    operator.control("dead_letter_settle", event_id=str(failed[0]), action="drop")
    operator.control("dead_letter_settle", event_id=rest["dead_letters"][1]["id"], action="replayed")
    left = operator.control("dead_letters")["dead_letters"]
    assert [one["event_id"] for one in left] == [str(one) for one in failed[1:4]]


def test_a_letter_behind_many_others_is_listed_and_settled(broker, connect) -> None:
    worker, operator = connect("working"), connect("operator")
    failed = [uuid.UUID(int=number) for number in range(1, 1_102)]
    for start in range(0, len(failed), 100):
        worker.acknowledged(*[dead_letter(one, user="alice") for one in failed[start : start + 100]])
    first = operator.control("dead_letters", limit=5_000)
    assert len(first["dead_letters"]) == 1_000
    rest = operator.control("dead_letters", limit=5_000, after=first["next"])
    assert [one["event_id"] for one in rest["dead_letters"]] == [str(one) for one in failed[1_000:]]
    operator.control("dead_letter_settle", event_id=str(failed[-1]), action="drop")
    left = operator.control("dead_letters", limit=5_000, after=first["next"])["dead_letters"]
    assert [one["event_id"] for one in left] == [str(one) for one in failed[1_000:-1]]


def test_a_dead_letter_of_a_forgotten_user_is_not_listed(broker, connect) -> None:
    connect("working").acknowledged(dead_letter(uuid.UUID(int=1), user="alice"), dead_letter(uuid.UUID(int=2)))
    broker.vault.users.destroy("alice")
    letters = connect("operator").control("dead_letters")["dead_letters"]
    assert [one["event_id"] for one in letters] == [str(uuid.UUID(int=2))]


def test_statistics_connections_and_topics_are_there_for_the_operator(broker, connect, message) -> None:
    connect().acknowledged(message())
    operator = connect("operator")
    figures = operator.control("statistics")
    assert (figures["durable"], figures["journal"]["head"], figures["alarms"]) == (1, 1, [])
    assert sorted(one["identity"] for one in operator.control("connections")["connections"]) == ["default", "operator"]
    (topic,) = [one for one in operator.control("topics")["topics"] if one["name"] == MESSAGE]
    assert (topic["durable"], topic["owner"], topic["sequence"]) == (True, "working", 1)


def test_ping_and_goodbye(broker, connect, message) -> None:
    client = connect()
    client.send(Kind.PING)
    assert client.receive(Kind.PONG) == b""
    client.send(Kind.GOODBYE)
    client.publish(message())
    assert bus_pb2.Resync.FromString(client.receive(Kind.RESYNC)).hello


def test_access_refusals_are_audited_at_a_bounded_rate_and_all_counted(make_broker, connect) -> None:
    make_broker(BusSettings(audit_per_second=2, segment_first_bytes=1 << 20, min_free_bytes=0))
    observer, operator = connect("observer"), connect("operator")
    for number in range(50):
        observer.publish(OutgoingRecord(new_id().bytes, MESSAGE, f"user{number}", b"x"))
        observer.refusal()
    assert operator.control("statistics")["notices"]["access_denied"] == 50
    entries = operator.read("memory/bus/audit/v1/")
    assert 1 <= len(entries) <= 10
    assert all(one.sender == "broker" for one in entries)


def test_a_destroyed_key_leaves_an_empty_envelope_in_the_range(broker, connect, message) -> None:
    connect().acknowledged(message("alice"), message("bob"))
    broker.vault.users.destroy("alice")
    found = connect("working").read(MESSAGE)
    assert [(one.topic_sequence, one.erased) for one in found] == [(1, True), (2, False)]
    assert connect("operator").control("statistics")["ranges"]["erased"] == 1


def test_a_second_broker_on_one_home_is_refused(broker) -> None:
    with pytest.raises(StoreLocked):
        Broker(broker.home, broker.settings, broker.vault, broker.clock)


def test_a_port_that_is_taken_is_said(home, broker) -> None:
    port = int(broker.broker.address["router"].rsplit(":", 1)[1])
    other = make_home(home.root / "other")
    taken = RunningBroker(other, BusSettings(router_port=port, segment_first_bytes=1 << 20, min_free_bytes=0))
    made = Broker(other, taken.settings, taken.vault, taken.clock)
    try:
        with pytest.raises(BusUnavailable, match=str(port)):
            made.bind()
    finally:
        made.close()


def test_retention_runs_in_the_broker_and_its_loss_is_told_to_the_reader(make_broker, connect, message) -> None:
    clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC))
    settings = BusSettings(
        segment_first_bytes=1 << 20, min_free_bytes=0, retention_hours=48, retention_hard_hours=100, retention_seconds=0.01
    )
    make_broker(settings, clock)
    client, worker, operator = connect(), connect("working"), connect("operator")
    client.acknowledged(message(), message())
    worker.control("report", consumer="working", topics=[MESSAGE], applied=1, settled=1)
    clock.advance(timedelta(hours=30))
    deadline = time.monotonic() + 60
    while operator.control("statistics")["journal"]["segments"] < 2:
        assert time.monotonic() < deadline
    clock.advance(timedelta(hours=60))
    while not operator.control("statistics")["alarms"]:
        assert time.monotonic() < deadline
    assert len(worker.read(MESSAGE)) == 2, "the consumer has not applied the second yet"
    clock.advance(timedelta(hours=60))
    while not operator.control("statistics")["journal"]["removed_unread"]:
        assert time.monotonic() < deadline
    assert worker.read(MESSAGE) == []
    assert (worker.range_head.missing, worker.range_head.next_global) == (2, 3)

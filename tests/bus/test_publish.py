"""Publishing: acknowledged, in order, once, within the limits."""

from __future__ import annotations

import time
import uuid

import zmq

from aico_memory.contracts.envelope import make_record
from aico_memory.contracts.v1 import bus_pb2, context_pb2, envelope_pb2
from aico_memory.contracts.wire import Kind, OutgoingRecord, pack_publish, reply_topic, unpack_batch
from aico_memory.ids import new_id
from aico_memory.settings.bus import BusSettings

MESSAGE = "memory/working/message/v1/"
SEARCH = "memory/context/search/v1/"


def search_request(user: str = "alice", reply_to: str = "") -> OutgoingRecord:
    request = context_pb2.SearchRequest(user_id=user, query="where does alice live")
    return make_record(request, event_id=new_id(), occurred_us=1, user=user, reply_to=reply_to)


def test_a_publish_is_acknowledged_with_its_sequences_and_read_again(broker, connect, message) -> None:
    assert connect().acknowledged(message(), message("bob")) == [(1, 1), (2, 2)]
    records = connect("working").read(MESSAGE)
    assert [(one.global_sequence, one.user, one.sender) for one in records] == [(1, "alice", "default"), (2, "bob", "default")]


def test_a_subscriber_that_is_ready_hears_what_is_published_after(broker, connect, message) -> None:
    client, sub = connect(), connect("working").subscribe(MESSAGE)
    record = message()
    client.acknowledged(record)
    assert sub.poll(60_000)
    (heard,) = unpack_batch(sub.recv())[2]
    assert (heard.envelope, heard.event_id, heard.sender) == (record.envelope, record.event_id, "default")
    assert (heard.global_sequence, heard.topic_sequence) == (1, 1)


def test_the_sender_is_stamped_by_the_broker(broker, connect, message) -> None:
    connect("publisher").acknowledged(message())
    assert connect("working").read(MESSAGE)[0].sender == "publisher"


def test_the_same_event_twice_is_one_entry_and_one_acknowledgement(broker, connect, message) -> None:
    client, record = connect(), message()
    first = client.acknowledged(record, message())
    assert client.acknowledged(message(), record)[1] == first[0]
    assert connect().acknowledged(record) == first[:1]
    assert len(connect("working").read(MESSAGE)) == 3


def test_an_acknowledged_record_survives_a_restart_and_its_id_is_known(make_broker, connect, message) -> None:
    running = make_broker()
    record = message()
    first = connect().acknowledged(record, message())
    before = running.broker.address
    running.stop()
    running.start()
    after = running.broker.address
    assert {key: after[key] for key in ("router", "delivery", "epoch")} == {
        key: before[key] for key in ("router", "delivery", "epoch")
    }
    assert connect().acknowledged(record) == first[:1]
    assert connect().acknowledged(message()) == [(3, 3)]


def test_what_was_acknowledged_is_on_disk_when_the_process_is_killed_at_once(home, broker_process, connect, message) -> None:
    client = connect()
    for round_number in range(3):
        records = [message(content=f"{round_number}-{number}") for number in range(20)]
        client.acknowledged(*records)
        broker_process.kill()
        broker_process.start()
        client = connect()
        found = connect("working").read(MESSAGE)
        assert [one.event_id for one in found[-20:]] == [record.event_id for record in records]
        assert len(found) == 20 * (round_number + 1)


def test_a_gap_in_the_producer_sequence_is_not_skipped(broker, connect, message) -> None:
    client = connect()
    client.acknowledged(message())
    # What happens when frames are lost with a connection and the socket reconnects by itself.
    lost = [message(), message()]
    client.sequence += len(lost)
    client.publish(message())
    resync = bus_pb2.Resync.FromString(client.receive(Kind.RESYNC))
    assert (resync.expected, resync.hello) == (2, False)
    client.sequence = resync.expected
    assert client.acknowledged(*lost) == [(2, 2), (3, 3)]
    assert client.acknowledged(message()) == [(4, 4)]


def test_a_connection_without_hello_is_asked_to_say_it_and_nothing_is_taken(broker, connect, message) -> None:
    client = connect(hello=False)
    client.publish(message())
    assert bus_pb2.Resync.FromString(client.receive(Kind.RESYNC)).hello
    client.hello()
    assert client.acknowledged(message()) == [(1, 1)]


def test_hello_on_a_known_connection_starts_the_sequence_over(broker, connect, message) -> None:
    client = connect()
    client.acknowledged(message(), message())
    client.hello(next_sequence=100)
    assert client.acknowledged(message()) == [(3, 3)]


def test_a_resent_frame_gets_the_first_acknowledgement(broker, connect, message) -> None:
    client = connect()
    records = [message() for _ in range(3)]
    first = client.acknowledged(*records)
    client.sequence = 2
    assert client.acknowledged(*records[1:], message()) == [*first[1:], (4, 4)]


def test_a_refused_record_leaves_the_others_of_its_frame_and_the_sequence_untouched(broker, connect, message) -> None:
    client = connect()
    bad = OutgoingRecord(new_id().bytes, "memory/working/nothing/v1/", "alice", b"x")
    client.publish(message(), bad, message(), bad)
    refusals = [client.refusal(), client.refusal()]
    assert [(one.producer_sequence, one.event_id, one.code) for one in refusals] == [
        (2, bad.event_id, "unknown_topic"), (4, bad.event_id, "unknown_topic"),
    ]  # fmt: skip
    assert all(one.mend for one in refusals)
    acknowledgement = client.receive(Kind.ACK)
    assert len(acknowledgement) == 12 + 4 * 16
    assert client.acknowledged(message()) == [(3, 3)]


def test_each_kind_of_unfit_record_is_refused_with_its_code(make_broker, connect, message) -> None:
    make_broker(BusSettings(max_bytes=1024, segment_first_bytes=1 << 20, min_free_bytes=0))
    client = connect()
    cases = [
        (OutgoingRecord(new_id().bytes, MESSAGE, "alice", b"x" * 1025), "too_large"),
        (OutgoingRecord(new_id().bytes, MESSAGE, "", b"x"), "invalid_message"),
        (OutgoingRecord(new_id().bytes, MESSAGE, "alice", b""), "invalid_message"),
        (OutgoingRecord(bytes(16), MESSAGE, "alice", b"x"), "invalid_message"),
        (OutgoingRecord(new_id().bytes, MESSAGE, "a\nb", b"x"), "invalid_message"),
        (OutgoingRecord(new_id().bytes, MESSAGE, "a" * 1025, b"x"), "invalid_message"),
        (OutgoingRecord(new_id().bytes, "memory/bus/audit/v1/", "", b"x"), "access_denied"),
        (OutgoingRecord(new_id().bytes, SEARCH, "alice", b"x"), "invalid_message"),
        (OutgoingRecord(new_id().bytes, MESSAGE[:-1], "alice", b"x"), "unknown_topic"),
    ]
    for record, code in cases:
        client.publish(record)
        assert client.refusal().code == code, record
        assert client.receive(Kind.ACK)[-16:] == bytes(16)
    # The refused access took a global sequence: its audit entry.
    assert client.acknowledged(message()) == [(2, 1)]


def test_a_durable_topic_cannot_be_published_as_ephemeral(broker, connect, message) -> None:
    client = connect()
    client.publish(message(), ephemeral=True)
    refusal = client.refusal()
    assert (refusal.code, refusal.producer_sequence) == ("invalid_message", 0)
    assert connect("working").read(MESSAGE) == []


def test_an_ephemeral_request_and_its_reply_go_through_without_the_journal(broker, connect) -> None:
    client, worker = connect(), connect("context")
    topic = reply_topic("default", client.session)
    answers, requests = client.subscribe(topic), worker.subscribe(SEARCH)
    request = search_request(reply_to=topic)
    client.publish(request, ephemeral=True)
    (heard,) = unpack_batch(requests.recv())[2]
    assert (heard.event_id, heard.global_sequence, heard.topic_sequence) == (request.event_id, 0, 0)
    reply = make_record(envelope_pb2.Reply(), event_id=new_id(), occurred_us=1, topic=topic, correlation_id=uuid.UUID(int=1))
    worker.publish(reply, ephemeral=True)
    assert unpack_batch(answers.recv())[2][0].sender == "context"
    assert broker.broker.statistics()["journal"]["head"] == 0


def test_a_flood_slows_the_flooder_and_not_the_others(make_broker, connect, message) -> None:
    make_broker(BusSettings(publish_per_second=50, publish_burst=100, segment_first_bytes=1 << 20, min_free_bytes=0))
    flooder, calm = connect(), connect("publisher")
    flooder.publish(*[message() for _ in range(90)])
    flooder.receive(Kind.ACK)
    flooder.publish(*[message() for _ in range(60)])
    refusal = flooder.refusal()
    assert refusal.code == "rate_limited"
    assert refusal.retry_after_ms > 0
    assert calm.acknowledged(message()) == [(91, 91)]


def test_more_connections_than_allowed_are_refused_and_closed_ones_make_room(make_broker, connect) -> None:
    make_broker(BusSettings(connections_per_identity=2, segment_first_bytes=1 << 20, min_free_bytes=0))
    first, _ = connect(), connect()
    third = connect(hello=False)
    hello = bus_pb2.Hello(protocol=1, contracts="aico.memory.v1", session=b"s" * 16, next_producer_sequence=1)
    third.send(Kind.HELLO, hello)
    assert third.refusal().code == "rate_limited"
    assert connect("working").control("ping")
    first.close()
    first.sockets.clear()
    deadline = time.monotonic() + 60
    while True:
        third.send(Kind.HELLO, hello)
        frame = third.dealer.recv()
        if frame[0] == Kind.WELCOME:
            break
        assert time.monotonic() < deadline


def test_another_protocol_or_contract_version_is_refused(broker, connect) -> None:
    client = connect(hello=False)
    for hello in (
        bus_pb2.Hello(protocol=2, contracts="aico.memory.v1", session=bytes(16)),
        bus_pb2.Hello(protocol=1, contracts="aico.memory.v2", session=bytes(16)),
    ):
        client.send(Kind.HELLO, hello)
        assert client.refusal().code == "version_mismatch"


def test_a_full_disk_refuses_durable_publishes_and_goes_on_delivering(make_broker, connect, message) -> None:
    running = make_broker()
    connect().acknowledged(message())
    running.stop()
    make_broker(BusSettings(segment_first_bytes=1 << 20, min_free_bytes=1 << 60))
    client, worker = connect(), connect("context")
    requests = worker.subscribe(SEARCH)
    client.publish(message(), message())
    refusals = [client.refusal(), client.refusal()]
    assert [(one.code, one.producer_sequence) for one in refusals] == [("storage_full", 1), ("storage_full", 2)]
    assert all(one.retry_after_ms for one in refusals)
    assert client.receive(Kind.ACK)[12:] == bytes(32)
    client.publish(search_request(), ephemeral=True)
    assert requests.poll(60_000)
    assert len(connect("working").read(MESSAGE)) == 1
    assert connect("operator").control("statistics")["alarms"] == [{"alarm": "journal_full"}]


def test_a_routing_id_that_a_client_chose_is_refused(broker, connect, message) -> None:
    client = connect(hello=False)
    own = client.socket(zmq.DEALER, "router", connect=False)
    own.setsockopt(zmq.ROUTING_ID, b"chosen")
    own.connect(client.address()["router"])
    own.send(pack_publish([message()], 1, False))
    refusal = bus_pb2.Refusal.FromString(client.receive(Kind.REFUSED, dealer=own))
    assert (refusal.code, "ROUTING_ID" in refusal.mend) == ("invalid_message", True)


def test_later_parts_of_a_message_are_never_taken_for_another_connection(broker, connect, message) -> None:
    victim, attacker = connect(), connect("observer")
    victim.acknowledged(message())
    (routing_id,) = [
        one.routing_id for one in broker.broker._sessions._by_id.values() if one.identity.name == "default"
    ]  # fmt: skip
    forged = pack_publish([message()], 2, False)
    attacker.dealer.send_multipart([bytes((Kind.PING,)), routing_id, forged])
    assert attacker.refusal().code == "invalid_message"
    assert victim.acknowledged(message())[0][1] == 2
    assert len(connect("working").read(MESSAGE)) == 2


def test_a_topic_and_user_cut_at_another_place_do_not_borrow_a_grant(broker, connect, message) -> None:
    client = connect()
    client.acknowledged(message("alice"))
    moved = OutgoingRecord(new_id().bytes, MESSAGE + "al", "ice", b"x")
    # The same bytes in the same order: whatever the cut, the decision is that of topic and user as registered.
    client.acknowledged(moved)
    found = connect("working").read(MESSAGE)
    assert [(one.topic, one.user) for one in found] == [(MESSAGE, "alice"), (MESSAGE, "alice")]

"""Random and mutated frames: answered or dropped, counted, explained; never a crash."""

from __future__ import annotations

import json
import random

import zmq
from hypothesis import given, settings
from hypothesis import strategies as st

from aico_memory.contracts.v1 import bus_pb2
from aico_memory.contracts.wire import (
    CONTRACTS,
    PROTOCOL,
    Kind,
    OutgoingRecord,
    pack_publish,
    unpack_ack,
    unpack_batch,
    unpack_publish,
    unpack_range,
)
from aico_memory.errors import InvalidMessage
from aico_memory.vault.curve_keys import IdentityKeys, load_identity
from scripts.fuzz_bus import Insider, attack_from_outside, hostile_frames
from tests.support.raw_bus import failed_handshake

MESSAGE = "memory/working/message/v1/"


def test_thousands_of_hostile_frames_from_an_authenticated_client_break_nothing(home, broker, connect, message) -> None:
    insider = Insider(json.loads(home.bus_address.read_text()), load_identity(home, "default"))
    try:
        assert insider.send(hostile_frames(random.Random(3), 5000)) > 4000
    finally:
        insider.close()
    operator = connect("operator")
    counted = operator.control("statistics")
    assert counted["notices"]["malformed"] > 500
    assert "internal_error" not in counted["notices"]
    letters = operator.control("dead_letters")["dead_letters"]
    # As many as the rate allows, each with its reason and the beginning of the frame.
    assert 5 < len(letters) < counted["notices"]["malformed"]
    assert all(one["reason"] and one["sender"] == "default" and one["consumer"] == "broker" for one in letters)
    client = connect()
    before = len(connect("working").read(MESSAGE))
    client.acknowledged(message())
    assert len(connect("working").read(MESSAGE)) == before + 1


def test_sequences_at_the_end_of_their_range_break_nothing(home, broker, connect, message) -> None:
    far = connect(hello=False)
    last = (1 << 64) - 1
    far.send(Kind.HELLO, bus_pb2.Hello(protocol=PROTOCOL, contracts=CONTRACTS, session=bytes(16), next_producer_sequence=last))
    assert far.refusal().code == "invalid_message"
    far.hello((1 << 62) - 1)
    denied = OutgoingRecord(message().event_id, "memory/working/sweep/v1/", "", b"x")
    # (The order holds audit entries and dead letters beside.)
    assert [topic for _, topic in far.acknowledged(denied, denied, message())] == [0, 0, 1]
    far.dealer.send(pack_publish([denied, message()], last, False))
    far.receive(Kind.RESYNC)
    assert [topic for _, topic in connect().acknowledged(message())] == [2]


def test_bytes_from_outside_break_nothing_and_leave_the_others_alone(home, broker, connect, message) -> None:
    client = connect()
    assert attack_from_outside(json.loads(home.bus_address.read_text()), random.Random(5), 40) > 200
    assert client.acknowledged(message()) == [(1, 1)]
    assert connect("working").control("ping")
    assert failed_handshake(home, IdentityKeys("mallory", *zmq.curve_keypair()))[1] == 400
    assert broker.broker.statistics()["handshakes"]["refused"] > 0


def test_a_frame_above_the_limit_ends_the_connection_and_not_the_broker(home, broker, connect, message) -> None:
    flooder = connect()
    flooder.dealer.send(bytes((Kind.PUBLISH,)) + bytes(9 * 1024 * 1024))
    assert connect("publisher").acknowledged(message()) == [(1, 1)]


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_make_an_unpacker_fail_otherwise_than_typed(frame: bytes) -> None:
    for unpack in (unpack_publish, unpack_ack, unpack_range, unpack_batch):
        try:
            unpack(frame)
        except (InvalidMessage, UnicodeDecodeError):
            continue


RECORDS = st.lists(
    st.builds(
        OutgoingRecord, st.binary(min_size=16, max_size=16), st.text(max_size=40), st.text(max_size=40), st.binary(max_size=300)
    ),
    min_size=1, max_size=8,
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(RECORDS, st.integers(0, (1 << 64) - 1), st.booleans())
def test_a_publish_frame_is_read_as_it_was_written(records: list[OutgoingRecord], first: int, ephemeral: bool) -> None:
    read = unpack_publish(pack_publish(records, first, ephemeral))
    expected = [(one.event_id, one.topic.encode(), one.user.encode(), one.envelope) for one in records]
    assert read == (first, ephemeral, expected)

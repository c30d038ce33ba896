"""Who gets in: CURVE and ZAP, failing closed, with keys that change while everything runs."""

from __future__ import annotations

import time

import pytest
import zmq
from zmq.utils.monitor import recv_monitor_message

from aico_memory.bus import zap
from aico_memory.bus.broker import sockets
from aico_memory.contracts.wire import Kind
from aico_memory.errors import StoreCorrupt
from aico_memory.settings.bus import BusSettings
from aico_memory.vault.curve_keys import (
    IdentityKeys,
    add_identity,
    authorized_path,
    load_identity,
    revoke_identity,
    rotate_identity,
)
from tests.bus.conftest import RunningBroker

MESSAGE = "memory/working/message/v1/"
REFUSED = {zmq.EVENT_HANDSHAKE_FAILED_AUTH, zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL, zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL}


def stranger() -> IdentityKeys:
    return IdentityKeys("stranger", *zmq.curve_keypair())


def handshake_event(client, socket: zmq.Socket, endpoint: str = "router") -> int:
    """Connect and wait for the end of the handshake, either way."""
    monitor = socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED | sum(REFUSED))
    try:
        socket.connect(client.address()[endpoint])
        assert monitor.poll(60_000), "the handshake did not end"
        return int(recv_monitor_message(monitor)["event"])
    finally:
        socket.disable_monitor()
        monitor.close()


def test_an_unknown_key_is_refused_on_both_sockets_with_an_event(broker, connect) -> None:
    client = connect(hello=False, keys=stranger())
    for kind, endpoint in ((zmq.DEALER, "router"), (zmq.SUB, "delivery")):
        socket = client.socket(kind, endpoint, connect=False)
        assert handshake_event(client, socket, endpoint) == zmq.EVENT_HANDSHAKE_FAILED_AUTH


def test_a_connection_without_curve_is_refused(broker, connect) -> None:
    client = connect(hello=False)
    for kind, endpoint in ((zmq.DEALER, "router"), (zmq.SUB, "delivery")):
        socket = client.socket(kind, endpoint, curve=False, connect=False)
        assert handshake_event(client, socket, endpoint) in REFUSED


def test_another_servers_key_does_not_connect(broker, connect) -> None:
    client = connect(hello=False)
    socket = client.socket(zmq.DEALER, "router", connect=False)
    socket.curve_serverkey = zmq.curve_keypair()[0]
    assert handshake_event(client, socket) in REFUSED


def test_without_a_handler_nobody_gets_in(home, connect, broker) -> None:
    """libzmq alone lets every key in where no ZAP handler is bound; the enforced domain turns that round."""
    context = zmq.Context()
    server = sockets.open_socket(
        context, zmq.ROUTER, load_identity(home, "default"), BusSettings(), high_water=10, max_bytes=1000
    )  # fmt: skip
    client = connect(hello=False)
    try:
        port = sockets.bind_to(server, "127.0.0.1", 0)
        peer = client.socket(zmq.DEALER, "router", connect=False)
        peer.curve_serverkey = load_identity(home, "default").public
        peer.connect(f"tcp://127.0.0.1:{port}")
        peer.send(b"let me in")
        assert not server.poll(500)
    finally:
        server.close(linger=0)
        context.term()


def test_a_handler_that_fails_inside_refuses(broker, connect, monkeypatch) -> None:
    def broken(*_: object) -> zap.Verdict:
        raise RuntimeError("a bug")

    monkeypatch.setattr(zap, "judge", broken)
    client = connect(hello=False)
    socket = client.socket(zmq.DEALER, "router", connect=False)
    assert handshake_event(client, socket) in REFUSED | {zmq.EVENT_HANDSHAKE_FAILED_AUTH}
    monkeypatch.undo()
    assert connect("working").control("ping")


def test_a_key_added_while_the_bus_runs_gets_in(home, broker, connect) -> None:
    add_identity(home, "newcomer", "publisher")
    assert connect("newcomer").control("ping")


def test_a_revoked_key_loses_its_live_connection(home, broker, connect, message) -> None:
    """libzmq keeps connections of keys that ZAP would not let in any more."""
    add_identity(home, "leaver", "client")
    leaver = connect("leaver")
    leaver.acknowledged(message())
    revoke_identity(home, "leaver")
    deadline = time.monotonic() + 60
    while True:
        leaver.publish(message())
        frame = leaver.dealer.recv()
        if frame[0] == Kind.REFUSED:
            break
        assert time.monotonic() < deadline
    assert b"not_authorised" in frame
    assert connect("working").control("ping")


def test_a_revoked_subscriber_hears_nothing_more_and_the_others_hear_again(home, broker, connect, message) -> None:
    add_identity(home, "leaver", "working")
    leaver, stayer, client = connect("leaver"), connect("working"), connect()
    gone, stays = leaver.subscribe(MESSAGE), stayer.subscribe(MESSAGE)
    client.acknowledged(message())
    assert gone.poll(60_000)
    assert stays.poll(60_000)
    gone.recv(), stays.recv()
    rebuilds = broker.broker.statistics()["delivery"]["rebuilds"]
    revoke_identity(home, "leaver")
    deadline = time.monotonic() + 60
    while broker.broker.statistics()["delivery"]["rebuilds"] == rebuilds:
        assert time.monotonic() < deadline
        client.control("ping")
    stayer.wait_ready(stays)
    client.acknowledged(message())
    assert stays.poll(60_000)
    assert not gone.poll(300)


def test_a_rotated_key_ends_the_old_connection_and_opens_with_the_new_pair(home, broker, connect, message) -> None:
    add_identity(home, "rotating", "client")
    old = connect("rotating")
    old.acknowledged(message())
    rotate_identity(home, "rotating")
    assert connect("rotating").acknowledged(message())
    old.publish(message())
    assert old.refusal().code == "not_authorised"


@pytest.mark.parametrize("damage", ["half a list", "not JSON", "gone"])
def test_a_list_that_cannot_be_read_lets_nobody_new_in_and_cuts_nobody_off(home, broker, connect, message, damage: str) -> None:
    path = authorized_path(home)
    inside = connect("default")
    newcomer = add_identity(home, "newcomer", "client")
    good = path.read_bytes()
    revoke_identity(home, "newcomer")
    assert connect("working").control("ping")
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(good[: len(good) // 2] if damage == "half a list" else b"{ broken")
    client = connect(hello=False, keys=newcomer)
    socket = client.socket(zmq.DEALER, "router", connect=False)
    assert handshake_event(client, socket) == zmq.EVENT_HANDSHAKE_FAILED_AUTH
    assert [alarm["alarm"] for alarm in broker.broker.statistics()["alarms"]] == ["authorised_keys_unreadable"]
    # Those who were in before hear and say on, and may come back.
    inside.acknowledged(message())
    assert connect("working").control("ping")
    path.write_bytes(good)
    assert connect("newcomer").control("ping")
    assert broker.broker.statistics()["alarms"] == []


def test_a_bus_does_not_start_with_a_list_that_cannot_be_read(home) -> None:
    RunningBroker(home).start().stop()
    authorized_path(home).write_text("{ broken")
    with pytest.raises(StoreCorrupt, match=r"authorized\.json"):
        RunningBroker(home).start()


def test_key_changes_are_audited(home, broker, connect) -> None:
    add_identity(home, "newcomer", "publisher")
    connect("newcomer")
    operator = connect("operator")
    deadline = time.monotonic() + 60
    while not operator.read("memory/bus/audit/v1/"):
        assert time.monotonic() < deadline


@pytest.mark.parametrize(
    "frames",
    [
        [],
        [b"1.0"],
        [b"2.0", b"1", zap.DOMAIN, b"", b"", b"CURVE", bytes(32)],
        [b"1.0", b"1", b"other", b"", b"", b"CURVE", bytes(32)],
        [b"1.0", b"1", zap.DOMAIN, b"", b"", b"NULL", bytes(32)],
        [b"1.0", b"1", zap.DOMAIN, b"", b"", b"PLAIN", b"user"],
        [b"1.0", b"1", zap.DOMAIN, b"", b"", b"CURVE", bytes(31)],
        [b"1.0", b"1", zap.DOMAIN, b"", b"", b"CURVE", bytes(32)],
    ],
)
def test_whatever_is_not_a_listed_curve_key_is_refused(frames) -> None:
    assert zap.judge(frames, {}, lambda _: False).status != b"200"


def test_a_listed_key_is_let_in_unless_it_is_banned() -> None:
    public, _ = zmq.curve_keypair()
    frames = [b"1.0", b"1", zap.DOMAIN, b"127.0.0.1", b"", b"CURVE", zmq.utils.z85.decode(public)]
    user_id = zap.user_id_of("alice", public)
    assert zap.judge(frames, {public: user_id}, lambda _: False) == zap.Verdict(b"200", b"OK", user_id.encode())
    assert zap.judge(frames, {public: user_id}, lambda _: True).status == b"400"


def test_two_keys_of_one_name_are_two_peers() -> None:
    assert zap.user_id_of("alice", b"a" * 40) != zap.user_id_of("alice", b"b" * 40)

"""Why a connection does not come up, said within two seconds and from the handshake, not from silence."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
import zmq

from aico_memory.bus.link import BusAddress, Link, read_address
from aico_memory.clock import SystemClock
from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.errors import AccessDenied, AicoMemoryError, BusUnavailable, ClosedConnection, NotAuthorised, VersionMismatch
from aico_memory.paths import Home
from aico_memory.settings.link import LinkSettings
from aico_memory.vault.curve_keys import IdentityKeys, add_identity, load_identity, revoke_identity

MESSAGES = "memory/working/message/v1/"
PATIENCE = 60.0
Make = Callable[..., Link]


@pytest.fixture
def make(alice: IdentityKeys) -> Iterator[Make]:
    """Makes links that are not started, with the default settings."""
    made: list[Link] = []

    def link(address: BusAddress | Callable[[], BusAddress], keys: IdentityKeys = alice) -> Link:
        found = address if callable(address) else lambda: address
        made.append(Link(found, keys, settings=LinkSettings(), clock=SystemClock()))
        return made[-1]

    yield link
    for one in made:
        one.close()


def failure(link: Link) -> AicoMemoryError:
    """The error of start(), which must come in bounded time and say what to do."""
    before = time.monotonic()
    with pytest.raises(AicoMemoryError) as caught:
        link.start()
    assert time.monotonic() - before < PATIENCE / 2
    assert caught.value.mend
    return caught.value


def test_an_unknown_key_is_not_authorised(fake, make: Make) -> None:
    error = failure(make(fake.address, IdentityKeys("mallory", *zmq.curve_keypair())))
    assert type(error) is NotAuthorised
    assert "'mallory' is not authorised by the bus at tcp://127.0.0.1" in error.detail


def test_a_wrong_server_key_is_said(fake, make: Make) -> None:
    public, _ = zmq.curve_keypair()
    error = failure(make(BusAddress(fake.address.router, fake.address.delivery, public.decode())))
    assert type(error) is NotAuthorised
    assert "server key does not fit" in error.detail


def test_a_server_without_curve_is_said(make: Make) -> None:
    public, _ = zmq.curve_keypair()
    with zmq.Context() as context, context.socket(zmq.ROUTER) as plain:
        plain.linger = 0
        port = plain.bind_to_random_port("tcp://127.0.0.1")
        endpoint = f"tcp://127.0.0.1:{port}"
        error = failure(make(BusAddress(endpoint, endpoint, public.decode())))
    assert type(error) is NotAuthorised
    assert "not speak CURVE" in error.detail


def test_nothing_listening_is_bus_unavailable(make: Make) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        endpoint = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        error = failure(make(BusAddress(endpoint, endpoint, zmq.curve_keypair()[0].decode())))
    assert type(error) is BusUnavailable
    assert "Nothing listens" in error.detail


def test_a_port_that_answers_nothing_is_bus_unavailable(make: Make) -> None:
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        endpoint = f"tcp://127.0.0.1:{mute.getsockname()[1]}"
        error = failure(make(BusAddress(endpoint, endpoint, zmq.curve_keypair()[0].decode())))
    assert type(error) is BusUnavailable
    assert "does not answer as a bus does" in error.detail


def test_a_broker_that_never_says_welcome_is_bus_unavailable(fake, make: Make) -> None:
    fake.silent = True
    assert type(failure(make(fake.address))) is BusUnavailable


def test_another_protocol_is_a_version_mismatch(fake, make: Make) -> None:
    fake.protocol = 99
    error = failure(make(fake.address))
    assert type(error) is VersionMismatch
    assert "99" in error.detail


def test_a_home_without_a_bus_says_how_to_start_one(tmp_path: Path, make: Make) -> None:
    error = failure(make(lambda: read_address(Home(tmp_path))))
    assert type(error) is BusUnavailable
    assert "aico-memory up" in error.mend


def test_an_address_of_another_protocol_is_a_version_mismatch(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.run.mkdir()
    home.bus_address.write_text('{"router": "r", "delivery": "d", "server_public": "k", "protocol": 99}')
    with pytest.raises(VersionMismatch):
        read_address(home)


def test_an_unreadable_address_is_bus_unavailable(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.run.mkdir()
    home.bus_address.write_text("{")
    with pytest.raises(BusUnavailable, match="cannot be read"):
        read_address(home)


def test_a_key_that_is_added_after_a_refusal_gets_in_with_the_same_link(fake, alice, make: Make) -> None:
    fake.known.clear()
    link = make(fake.address)
    failure(link)
    fake.known.add(alice.public)
    fake.wait(lambda: link.connected)
    assert link.start(PATIENCE).identity == "alice"


def test_a_revoked_key_with_a_live_connection_is_told_so_within_two_seconds(broker, home: Home, make: Make) -> None:
    add_identity(home, "eve", "client")
    link = make(lambda: read_address(home), load_identity(home, "eve"))
    link.start()
    broker.stop()
    record = OutgoingRecord(b"1" * 16, MESSAGES, "u", b"e")
    open_publish = link.publish([record])[0]
    revoke_identity(home, "eve")
    broker.start()
    with pytest.raises(NotAuthorised, match="eve"):
        open_publish.result(2 + PATIENCE)
    with pytest.raises(NotAuthorised):
        link.publish([record])


def test_a_revoked_key_loses_its_connection(broker, home: Home, make: Make) -> None:
    add_identity(home, "eve", "operator")
    link = make(lambda: read_address(home), load_identity(home, "eve"))
    link.start()
    consumer = link.consume([MESSAGES], 0, 0)
    consumer.wait_live(PATIENCE)
    before = time.monotonic()
    revoke_identity(home, "eve")
    with pytest.raises(NotAuthorised):
        while time.monotonic() < before + PATIENCE:
            consumer.receive(1, 0.2)
    assert time.monotonic() - before < PATIENCE / 2


def test_a_topic_the_role_may_not_hear_is_refused_at_once(broker, home: Home, make: Make) -> None:
    link = make(lambda: read_address(home), load_identity(home, "default"))
    link.start()
    before = time.monotonic()
    with pytest.raises(AccessDenied):
        link.subscribe(["memory/model/embed/v1/"], lambda record: None)
    assert time.monotonic() - before < PATIENCE / 2


def test_another_clients_reply_topic_is_refused(broker, home: Home, make: Make) -> None:
    link = make(lambda: read_address(home), load_identity(home, "default"))
    link.start()
    with pytest.raises(AccessDenied):
        link.subscribe([f"memory/reply/operator/{'0' * 32}/v1/"], lambda record: None)


def test_a_topic_the_role_may_not_publish_on_is_refused(broker, home: Home, make: Make) -> None:
    link = make(lambda: read_address(home), load_identity(home, "default"))
    link.start()
    record = OutgoingRecord(b"1" * 16, "memory/working/sweep/v1/", "", b"e")
    with pytest.raises(AccessDenied):
        link.publish([record])[0].result(PATIENCE)


def test_a_closed_link_says_so(link: Link) -> None:
    link.close()
    with pytest.raises(ClosedConnection):
        link.publish([OutgoingRecord(b"1" * 16, MESSAGES, "u", b"e")])
    with pytest.raises(ClosedConnection):
        link.start()


def test_a_link_that_is_closed_before_its_start_leaves_nothing_open(alice: IdentityKeys, settings: LinkSettings) -> None:
    process = psutil.Process()
    before = process.num_fds()
    for _ in range(5):
        link = Link(lambda: BusAddress("", "", ""), alice, settings=settings, clock=SystemClock())
        link.close()
        link.close()
        with pytest.raises(ClosedConnection):
            link.start()
    assert process.num_fds() == before


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_is_refused_and_the_parent_goes_on(link: Link) -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            link.publish([OutgoingRecord(b"1" * 16, MESSAGES, "u", b"e")])
        except ClosedConnection as error:
            os.write(writing, error.detail.encode())
        link.close()
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    assert b"forked" in os.read(reading, 1000)
    os.close(reading)
    assert link.publish([OutgoingRecord(b"2" * 16, MESSAGES, "u", b"e")])[0].result(PATIENCE)

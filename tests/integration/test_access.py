"""Who is let in, and what for: against a whole deployment, through the client and through plain pyzmq."""

from __future__ import annotations

import uuid
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
import zmq

from aico_memory import MemoryClient
from aico_memory.contracts.v1 import bus_pb2, semantic_pb2
from aico_memory.contracts.wire import Kind
from aico_memory.errors import AccessDenied, AicoMemoryError, InvalidMessage, NotAuthorised
from aico_memory.paths import Home
from aico_memory.runtime.probe import broker_says
from aico_memory.vault.curve_keys import add_identity, init_curve, load_identity, revoke_identity
from tests.support.admission import AT_ONCE, a_message, record, refused_at_once
from tests.support.deployment import Deployment, contents, eventually, said
from tests.support.raw_bus import failed_handshake, heard, raw_bus

pytestmark = pytest.mark.deployment
MESSAGES = "memory/working/message/v1/"
CHANGED = "memory/semantic/changed/v1/"


def head(deployment: Deployment) -> int:
    with deployment.link() as link:
        return int(broker_says(link, "consumers")["head"])


def test_an_unknown_key_is_told_so_at_once(deployment: Deployment, tmp_path: Path) -> None:
    foreign = Home(tmp_path / "foreign")
    foreign.ensure()
    init_curve(foreign)
    add_identity(foreign, "default", "client")
    foreign.bus_address.write_bytes(deployment.home.bus_address.read_bytes())
    error = refused_at_once(NotAuthorised, lambda: MemoryClient.connect(home=foreign.root))
    assert "not authorised by the bus at tcp://127.0.0.1" in error.detail


def test_a_name_without_a_key_is_told_how_to_get_one(deployment: Deployment) -> None:
    error = refused_at_once(NotAuthorised, lambda: deployment.client("nobody"))
    assert "aico-memory keys add nobody" in error.mend


def test_a_key_gets_in_when_it_is_added_and_no_more_when_it_is_revoked(deployment: Deployment, admit: Any) -> None:
    pids = deployment.pids()
    name = admit()
    with deployment.client(name) as client:
        assert client.add([said("I am new here")], user_id=name)
    deployment.ok("keys", "revoke", name)
    refused_at_once(NotAuthorised, lambda: deployment.client(name))
    assert deployment.pids() == pids


def test_a_revoked_key_loses_its_live_connections_at_once(deployment: Deployment, admit: Any) -> None:
    name, witness = admit("operator"), admit("operator")
    with (
        deployment.client(name) as client,
        raw_bus(deployment.home, name) as evil,
        raw_bus(deployment.home, witness) as good,
    ):
        live = evil.subscribe(MESSAGES.encode())
        assert client.add([said("still in")], user_id=name)
        assert heard(live, b"still in")
        revoke_identity(deployment.home, name)
        revoked = monotonic()

        def cut() -> AicoMemoryError | None:
            try:
                client.add([said("am I still in?")], user_id=name)
            except NotAuthorised as error:
                return error
            return None

        error = eventually(cut, "the revoked key still publishes", 120)
        assert monotonic() - revoked < AT_ONCE
        assert name in error.detail
        # Also a connection that the client library has no hand in hears nothing more; another one does.
        control = good.subscribe(MESSAGES.encode())
        with deployment.client() as other:
            other.add([said("a secret for those who are let in")], user_id=name)
        assert heard(control, b"a secret for those")
        assert not heard(live, b"a secret for those", 0.5)
        evil.publish(record(a_message(name, "spoken after the end"), name))
        assert evil.refusal().code == NotAuthorised.code
    assert b"spoken after the end" not in b"".join(one.envelope for one in journal(deployment))


def journal(deployment: Deployment, topic: str = MESSAGES) -> list[Any]:
    with raw_bus(deployment.home, "operator") as operator:
        return operator.read(topic)


def test_a_rotated_key_works_at_once_and_the_old_one_no_more(deployment: Deployment, admit: Any) -> None:
    name = admit()
    old = load_identity(deployment.home, name)
    with raw_bus(deployment.home, keys=old) as before:
        deployment.ok("keys", "rotate", name)
        with deployment.client(name) as client:
            assert client.add([said("with the new key")], user_id=name)
        before.publish(record(a_message(name, "with the old key"), name))
        assert before.refusal().code == NotAuthorised.code
    assert failed_handshake(deployment.home, old, AT_ONCE) == (zmq.EVENT_HANDSHAKE_FAILED_AUTH, 400)


def test_a_role_that_only_hears_cannot_publish(deployment: Deployment, admit: Any) -> None:
    name = admit("observer")
    before = head(deployment)
    with deployment.client(name) as client:
        error = refused_at_once(AccessDenied, lambda: client.add([said("never said")], user_id=name))
        assert "observer" in error.detail
        refused_at_once(AccessDenied, lambda: client.search("anything", name))
    with raw_bus(deployment.home, name) as raw:
        assert raw.acknowledged(record(a_message(name, "never said"), name)) == [(0, 0)]
        raw.publish(record(semantic_pb2.ListMemories(user_id=name), name), ephemeral=True)
        assert raw.refusal().code == AccessDenied.code
    assert b"never said" not in b"".join(one.envelope for one in journal(deployment))
    # What was refused took no place in the order (an audit entry may have).
    audited = len([one for one in journal(deployment, "memory/bus/audit/v1/") if one.global_sequence > before])
    assert head(deployment) - before <= audited


def test_a_role_that_only_publishes_cannot_hear(deployment: Deployment, admit: Any) -> None:
    name = admit("publisher")
    with deployment.client(name) as client:
        refused_at_once(AccessDenied, lambda: client.subscribe(CHANGED))
    with raw_bus(deployment.home, name) as raw, raw_bus(deployment.home, "operator") as operator:
        # Neither by a socket that does not ask, nor by a prefix, nor from the journal.
        sneaky = raw.subscribe(MESSAGES.encode(), b"memory/", b"")
        control = operator.subscribe(MESSAGES.encode())
        assert raw.acknowledged(record(a_message(name, "for others only"), name)) != [(0, 0)]
        assert heard(control, b"for others only")
        assert not heard(sneaky, b"for others only", 0.5)
        raw.send(Kind.RANGE_REQUEST, bus_pb2.RangeRequest(request=1, topics=[MESSAGES], from_global=1))
        assert raw.refusal().code == AccessDenied.code


def test_a_connection_without_curve_does_not_get_in(deployment: Deployment) -> None:
    event, _ = failed_handshake(deployment.home, None, AT_ONCE)
    assert event in (zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL, zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL)


def test_refusals_are_counted_and_audited(deployment: Deployment, admit: Any) -> None:
    name = admit("observer")
    with deployment.link() as operator:
        before = broker_says(operator, "statistics")["refused"].get("access_denied", 0)
        with deployment.client(name) as client:
            refused_at_once(AccessDenied, lambda: client.add([said("no")], user_id="nobody"))
        assert broker_says(operator, "statistics")["refused"]["access_denied"] > before
        assert broker_says(operator, "statistics")["notices"]["access_denied"] > before


def put(path: Path, content: bytes) -> None:
    """The file with this content at once, as an editor leaves it."""
    fresh = path.with_suffix(".fresh")
    fresh.write_bytes(content)
    fresh.chmod(0o600)
    fresh.replace(path)


def test_a_bad_list_of_identities_lets_nobody_new_in_cuts_nobody_off_and_heals(deployment: Deployment, admit: Any) -> None:
    path = deployment.home.keys / "authorized.json"
    user, pids = f"inside-{uuid.uuid4().hex[:6]}", deployment.pids()
    with deployment.client() as inside:
        name = admit()
        good = path.read_bytes()
        revoke_identity(deployment.home, name)
        refused_at_once(NotAuthorised, lambda: deployment.client(name))
        put(path, good[: len(good) // 2])
        try:
            refused_at_once(NotAuthorised, lambda: deployment.client(name))
            inside.add([said("The boat is called Heron")], user_id=user)
            inside.flush(120)
            assert "The boat is called Heron" in contents(inside.search("boat", user))
            alarms = deployment.status()["alarms"]
            assert [alarm for alarm in alarms if alarm["alarm"] == "authorised_keys_unreadable"], alarms
            assert deployment.run("doctor").code != 0
            refused = deployment.run("keys", "add", "another", "--role", "client")
            assert refused.code != 0
            assert "authorized.json" in refused.err
        finally:
            put(path, good)

    def in_again() -> bool | None:
        try:
            with deployment.client(name) as client:
                return bool(client.add([said("back again")], user_id=name)) or None
        except InvalidMessage:
            raise
        except AicoMemoryError:
            return None

    assert eventually(in_again, "the healed list lets nobody in")
    assert deployment.pids() == pids
    assert not [one for one in deployment.status()["alarms"] if one["alarm"] == "authorised_keys_unreadable"]
